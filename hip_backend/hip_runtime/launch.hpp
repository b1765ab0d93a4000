// Launches of a kernel, whoever names it. Private to hip_runtime.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hip_backend/hip_runtime/state.hpp"

namespace mla::hip_runtime {

// The size of an ELF file: its section headers stand at the end.
std::size_t elf_size(const std::byte* image);

// The block of arguments that a kernel reads, from a pointer to each argument, in the order of the
// declaration.
std::vector<std::byte> packed(const gfx::Kernel& kernel, void** arguments);

// The same of arguments as a launch gives them: pointers, or one block that `extra` names. Fails:
// with a sentence that begins with the call.
hipError_t arguments_of(const char* call, const Function& function, const gfx::Kernel& kernel,
                        void** arguments, void** extra, std::vector<std::byte>& kernarg);

// The kernel of a function; null after a fault that names what is not there.
const gfx::Kernel* kernel_of(const Function& function);

// The kernel of a host's stub; the function of a handle. Null after a fault that names the call.
const gfx::Kernel* registered_kernel(const char* call, const void* stub);
// What a program names by a stub or by a handle; null if it is neither.
const Function* function_named(const void* stub_or_handle);
const Function* function_of(const char* call, hipFunction_t handle);

// Refuses a launch of blocks of so many threads that are not on the device at once: `fitting` are
// on a compute unit.
hipError_t refuse_too_many(const char* call, dim3 grid, int threads, int fitting);

// Runs the kernel to its end. `kernarg` is at least what the kernel's metadata say; `by_handle`: a
// function was launched, and not a stub. Fails: with what the kernel did wrong, which
// take_launched() has as a sentence.
hipError_t launch(const Function& function, dim3 grid, dim3 block,
                  std::span<const std::byte> kernarg, std::size_t dynamic_lds, bool by_handle);

}  // namespace mla::hip_runtime
