// What the calls of the HIP runtime share. Private to hip_runtime.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/hip_runtime/hip/hip_runtime.h"
#include "hip_backend/hip_runtime/runtime.hpp"
#include "hip_backend/hip_runtime/unit.hpp"

namespace mla::hip_runtime {

// A kernel or a variable of a unit.
struct Named {
  Unit* unit;
  std::string name;
};
using Function = Named;

// What hipModuleLoad() gave out, and the functions that were asked for.
struct Module {
  Unit unit;
  std::map<std::string, Function> functions;
};

struct Configuration {
  dim3 grid, block;
  std::size_t lds = 0;
  hipStream_t stream = nullptr;
};

inline constexpr int kMostExitCode = 255;
inline constexpr int kMostUnits = 1024;  // of MLA_TESTBED_UNITS and hipTestbedSetUnits()

inline constexpr std::size_t most_stack = (std::size_t{128} << 10) - 16;  // bytes of a thread

struct Limits {
  std::size_t stack = 1024, print = std::size_t{1} << 20;  // bytes, as ROCm begins with
};

// Of memory that is not only the device's: whose it is, and the flags of the call that made it so.
struct Shared {
  hipMemoryType type = hipMemoryTypeDevice;
  unsigned flags = 0;
};
// Of a range: what hipMemAdvise() and a prefetch said last. Places are devices, or hipCpuDeviceId.
struct Advice {
  bool read_mostly = false, coarse = false;
  int preferred = hipInvalidDeviceId, prefetched = hipInvalidDeviceId;
  std::set<int> accessed_by;
};

struct Runtime {
  Runtime();   // as the environment says: MLA_HIP_CHECKS, MLA_TESTBED_SCHEDULE, _ARRIVAL, _ARCH ...
  ~Runtime();  // says on stderr what take_launched() was not asked for
  std::vector<std::unique_ptr<Unit>> units;  // that the program registered
  std::vector<std::unique_ptr<Module>> modules;
  std::map<const void*, Function> functions;  // by the address of the host's stub
  std::map<const void*, Named> variables;     // by the address of the host's shadow
  gfx::Memory memory;
  std::map<const void*, Shared>
      shared;  // of hipHostMalloc(), hipMallocManaged(), hipHostRegister()
  std::map<const void*, Advice> advice;
  std::map<const void*, hipMemPool_t> pooled;  // of hipMallocAsync() and its like
  Device device;
  Launched launched;
  bool defers_faults = false;       // hipTestbedDeferFaults()
  hipError_t faulted = hipSuccess;  // of a kernel: what each wait gives back
  unsigned flags = 0;               // of hipSetDeviceFlags()
  Limits limits;                    // of hipDeviceSetLimit()
  std::optional<gfx::Arch> wanted;  // MLA_TESTBED_ARCH
  // That which was asked for, else of the first code that can run; nothing before there is any.
  [[nodiscard]] std::optional<gfx::Arch> arch() const;
  [[nodiscard]] int compute_units() const {
    return device.units != 0 ? device.units : is_gfx950() ? 256 : 304;
  }
  [[nodiscard]] bool is_gfx950() const { return arch() == gfx::Arch::gfx950; }

 private:
  void take_run_words();
  void take_exit_code();
};

// Programs register their code before main(): built at the first use.
Runtime& runtime();

// Of this thread: its last error, and what stands between the push of <<<>>> and the pop of the
// stub.
hipError_t& last_error();
Configuration& configuration();

// The calls of several threads take turns: every one that reads or writes the runtime holds one. A
// call may call another.
class Turn {
 public:
  Turn();

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

// Makes an error the last one, and gives it back; with what went wrong, as a fault.
hipError_t keep(hipError_t error);
hipError_t fault(hipError_t error, const std::string& sentence);
// What a call that waits for the device gives back: why it did not wait, or a kernel's fault.
hipError_t waited(hipError_t refused);

// Whose name the ranges of hipMalloc() and its like have, and what hipHostRegister() added.
inline constexpr const char* allocated = "hipMalloc";
inline constexpr const char* registered = "hipHostRegister";
// Bytes that are left of most_memory.
std::size_t free_memory();

}  // namespace mla::hip_runtime
