// The entries of stage 1: decode_<element of Q>_<element of the cache>_r<packed rows>.
#include "hip_backend/kernels/decode.hpp"

#if MLA_AMD
#define MLA_DECODE(name, ...)                                                    \
  MLA_KERNEL(256) name(const mla::hip::DecodeArguments a) {                      \
    __attribute__((shared)) static mla::hip::DecodeTraits<__VA_ARGS__>::Lds lds; \
    mla::hip::decode<mla::hip::DecodeTraits<__VA_ARGS__>>(a, lds);               \
  }
#else
extern __shared__ char dynamic_lds[];
#define MLA_DECODE(name, ...)                                                           \
  MLA_KERNEL((mla::hip::DecodeTraits<__VA_ARGS__>::kThreads))                           \
  name(const __grid_constant__ mla::hip::DecodeArguments a) {                           \
    using Traits = mla::hip::DecodeTraits<__VA_ARGS__>;                                 \
    mla::hip::decode<Traits>(a, *reinterpret_cast<typename Traits::Lds*>(dynamic_lds)); \
  }
#endif

using mla::hip::Bf16;
using mla::hip::Fp8;

MLA_DECODE(decode_bf16_bf16_r16, Bf16, Bf16, 0)
MLA_DECODE(decode_bf16_bf16_r32, Bf16, Bf16, 1)
MLA_DECODE(decode_bf16_bf16_r64, Bf16, Bf16, 2)
MLA_DECODE(decode_bf16_fp8_r16, Bf16, Fp8, 0)
MLA_DECODE(decode_bf16_fp8_r32, Bf16, Fp8, 1)
MLA_DECODE(decode_bf16_fp8_r64, Bf16, Fp8, 2)
MLA_DECODE(decode_fp8_fp8_r16, Fp8, Fp8, 0)
MLA_DECODE(decode_fp8_fp8_r32, Fp8, Fp8, 1)
MLA_DECODE(decode_fp8_fp8_r64, Fp8, Fp8, 2)
