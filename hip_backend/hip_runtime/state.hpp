// What the calls of the HIP runtime share. Private to hip_runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/hip_runtime/hip/hip_runtime.h"
#include "hip_backend/hip_runtime/runtime.hpp"

namespace mla::hip_runtime {

struct Function {
  const gfx::CodeObject* object;
  std::string name;
};

// What hipModuleLoad() gave out, and the functions that were asked for.
struct Module {
  gfx::CodeObject object;
  std::map<std::string, Function> functions;
};

struct Configuration {
  dim3 grid, block;
  std::size_t lds = 0;
  hipStream_t stream = nullptr;
};

struct Runtime {
  Runtime();   // with every check if MLA_HIP_CHECKS is set
  ~Runtime();  // says on stderr what take_launched() was not asked for
  std::vector<std::unique_ptr<gfx::CodeObject>> objects;
  std::vector<std::unique_ptr<Module>> modules;
  std::map<const void*, Function> functions;              // by the address of the host's stub
  std::map<const void*, std::span<std::byte>> variables;  // by the address of the host's shadow
  gfx::Memory memory;
  Device device;
  Launched launched;
  unsigned flags = 0;           // of hipSetDeviceFlags()
  Configuration configuration;  // between the push of <<<>>> and the pop of the stub
  hipError_t last = hipSuccess;
  // That of the first code object; nothing before there is one.
  [[nodiscard]] std::optional<gfx::Arch> arch() const {
    if (!objects.empty()) return objects.front()->arch();
    if (!modules.empty()) return modules.front()->object.arch();
    return std::nullopt;
  }
  [[nodiscard]] bool is_gfx950() const { return arch() == gfx::Arch::gfx950; }
};

// Programs register their code before main(): built at the first use.
Runtime& runtime();

// Makes an error the last one, and gives it back; with what went wrong, as a fault.
hipError_t keep(hipError_t error);
hipError_t fault(hipError_t error, const std::string& sentence);

// Whose name the ranges of hipMalloc() and its like have, and what hipHostRegister() added.
inline constexpr const char* allocated = "hipMalloc";
inline constexpr const char* registered = "hipHostRegister";
// Bytes that are left of most_memory.
std::size_t free_memory();

}  // namespace mla::hip_runtime
