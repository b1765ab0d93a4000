// The entries of prefill: prefill_bf16 and prefill_fp8, each with a plan or as flash attention.
#include "hip_backend/kernels/prefill.hpp"

#if MLA_AMD
#define MLA_PREFILL(name, E)                                            \
  MLA_KERNEL(256) name(const mla::hip::PrefillArguments a) {            \
    __attribute__((shared)) static mla::hip::PrefillTraits<E>::Lds lds; \
    mla::hip::prefill<mla::hip::PrefillTraits<E>>(a, lds);              \
  }
#else
extern __shared__ char dynamic_lds[];
#define MLA_PREFILL(name, E)                                                             \
  MLA_KERNEL(256) name(const __grid_constant__ mla::hip::PrefillArguments a) {           \
    using Traits = mla::hip::PrefillTraits<E>;                                           \
    mla::hip::prefill<Traits>(a, *reinterpret_cast<typename Traits::Lds*>(dynamic_lds)); \
  }
#endif

MLA_PREFILL(prefill_bf16, mla::hip::Bf16)
MLA_PREFILL(prefill_fp8, mla::hip::Fp8)
