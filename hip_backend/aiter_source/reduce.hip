// AITER's reduce of decode steps as one translation unit, from the folder that -I names.
//
// reduce.cu has a kernel for every number of heads, head dimension, output type and number of
// workgroups: 644 of them, ten minutes of compiling. Those of other dimensions than a latent's and
// of f16 outputs are left out here: their dispatch is this overload, which overload resolution
// prefers for its constraint.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <type_traits>

struct MlaReduceKernelV1Params;
template <int32_t kColumns, int32_t kHeads, int32_t kGroups>
struct MlaReduceKernelV1Traits;

namespace {

template <class Traits>
inline constexpr bool is_decode = false;
template <int32_t kHeads, int32_t kGroups>
inline constexpr bool is_decode<MlaReduceKernelV1Traits<512, kHeads, kGroups>> = true;

}  // namespace

template <class Traits, class Lse, class Out>
  requires(!is_decode<Traits> || !std::is_same_v<Out, __bf16>)
void dispatch_mla_reduce_v1(const MlaReduceKernelV1Params&, int32_t, const hipStream_t&) {
  throw std::invalid_argument("this build leaves out reduces of prefill steps and of f16");
}

#include "kernels/mla/reduce.cu"
