// RuntimeApi: the calls of HIP that we use, as a table that is filled when the program runs.
//
// One table, two sources: libamdhip64.so of ROCm 5, 6 or 7, or, as HIP's NVIDIA platform maps each
// HIP call to the CUDA driver's call of the same meaning, libcuda.so. Both are loaded with dlopen,
// so that a program of ours starts anywhere. All calls return 0 or the runtime's error number.
// Fails: a sentence that says which library or which symbol is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "hip_backend/device/device.hpp"

namespace mla::hip {

// Numbers of the two runtimes that differ.
struct RuntimeNumbers {
  int attribute_compute_units = 0;
  int attribute_lds_bytes = 0;
  // Ends the list of a launch's extra arguments; pointer and size precede it as 1 and 2.
  std::uintptr_t arguments_end = 0;
  int lds_attribute_of_kernel = -1;  // what sets a kernel's LDS limit; -1: there is no such thing
};

struct RuntimeApi {
  Platform platform = Platform::amd;
  std::string library;  // the file that was loaded
  RuntimeNumbers numbers;

  int (*init)(unsigned flags) = nullptr;
  int (*driver_version)(int* version) = nullptr;
  int (*device_count)(int* count) = nullptr;
  int (*device_name)(char* name, int bytes, int device) = nullptr;
  int (*device_memory)(std::size_t* bytes, int device) = nullptr;
  int (*device_attribute)(int* value, int attribute, int device) = nullptr;
  int (*device_properties)(void* properties, int device) = nullptr;           // AMD only
  int (*set_device)(int device) = nullptr;                                    // AMD only
  int (*make_context)(void** context, unsigned flags, int device) = nullptr;  // NVIDIA only
  int (*set_context)(void* context) = nullptr;                                // NVIDIA only
  int (*destroy_context)(void* context) = nullptr;                            // NVIDIA only
  int (*reset_device)() = nullptr;                                            // AMD only
  int (*device_synchronize)() = nullptr;
  const char* (*error_text)(int error) = nullptr;                // AMD
  int (*error_text_of)(int error, const char** text) = nullptr;  // NVIDIA

  int (*allocate)(std::uint64_t* address, std::size_t bytes) = nullptr;
  int (*release)(std::uint64_t address) = nullptr;
  int (*copy_in)(std::uint64_t to, const void* from, std::size_t bytes) = nullptr;
  int (*copy_out)(void* to, std::uint64_t from, std::size_t bytes) = nullptr;
  int (*copy_on)(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) = nullptr;
  int (*fill)(std::uint64_t to, unsigned word, std::size_t words) = nullptr;

  int (*module_load)(void** module, const void* image) = nullptr;
  int (*module_function)(void** function, void* module, const char* name) = nullptr;
  int (*function_attribute)(void* function, int attribute, int value) = nullptr;  // NVIDIA only
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned lds_bytes, void* stream,
                void** arguments, void** extra) = nullptr;

  int (*stream_create)(void** stream, unsigned flags) = nullptr;
  int (*stream_destroy)(void* stream) = nullptr;
  int (*stream_synchronize)(void* stream) = nullptr;
  int (*event_create)(void** event, unsigned flags) = nullptr;
  int (*event_destroy)(void* event) = nullptr;
  int (*event_record)(void* event, void* stream) = nullptr;
  int (*event_synchronize)(void* event) = nullptr;
  int (*event_elapsed)(float* ms, void* from, void* to) = nullptr;
  int (*capture_begin)(void* stream, int mode) = nullptr;
  int (*capture_end)(void* stream, void** graph) = nullptr;
  int (*graph_instantiate)(void** executable, void* graph, unsigned long long flags) = nullptr;
  int (*graph_launch)(void* executable, void* stream) = nullptr;
  int (*graph_destroy)(void* graph) = nullptr;
  int (*graph_exec_destroy)(void* executable) = nullptr;
};

Result<RuntimeApi> load_amd_runtime();
Result<RuntimeApi> load_nvidia_runtime();

}  // namespace mla::hip
