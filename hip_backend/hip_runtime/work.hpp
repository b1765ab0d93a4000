// Owns: what a stream is asked to do, as a value. It is done at once, or kept in a graph and done
// when that is launched. Private to hip_runtime.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "hip_backend/hip_runtime/hip/graph_types.h"
#include "hip_backend/hip_runtime/place.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace mla::hip_runtime {

struct Graph;

struct KernelWork {
  Function function;
  dim3 grid, block;
  std::vector<std::byte> kernarg;
  std::size_t dynamic_lds = 0;
  const void* named = nullptr;  // by the program: the host's stub, or a module's function
};
struct CopyWork {
  Place to, from;
  Extent extent;
  hipMemcpyKind kind = hipMemcpyDefault;
};
struct FillWork {
  Place to;
  Extent extent;
  unsigned value = 0, element = 1;  // the low bytes of the value, so many each time
};
struct HostWork {
  hipHostFn_t function = nullptr;
  void* data = nullptr;
};
struct GraphWork {
  std::shared_ptr<Graph> graph;
};
using Work = std::variant<std::monostate, KernelWork, CopyWork, FillWork, HostWork, GraphWork>;

[[nodiscard]] inline CopyWork linear_copy(void* to, const void* from, std::size_t bytes,
                                          hipMemcpyKind kind) {
  return {{to}, {const_cast<void*>(from)}, {bytes}, kind};
}
// What a graph's parameters mean. Fails: with the error of a call that was given them.
hipError_t kernel_work(const hipKernelNodeParams* kernel, KernelWork& work);
hipError_t fill_work(const hipMemsetParams* fill, FillWork& work);
hipError_t copy_work(const hipMemcpy3DParms* copy, CopyWork& work);
// The reverse.
hipMemsetParams fill_params(const FillWork& work);
hipMemcpy3DParms copy_params(const CopyWork& work);

// Does it now. Fails: with what was wrong, a sentence among the faults where there is more to say.
hipError_t run(const CopyWork& work);  // memory.cpp
hipError_t run(const FillWork& work);

}  // namespace mla::hip_runtime
