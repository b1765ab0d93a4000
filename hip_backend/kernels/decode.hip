// The entries of stage 1: decode_<element of Q>_<element of the cache>_r<packed rows>.
#include "hip_backend/kernels/decode.hpp"

#include "hip_backend/kernels/gpu.hpp"
#if MLA_AMD
#include "hip_backend/kernels/wave_decode.hpp"
#define MLA_DECODE(name, ...)                                              \
  MLA_KERNEL(256) name(const mla::hip::DecodeArguments a) {                \
    using Traits = mla::hip::WaveTraits<__VA_ARGS__>;                      \
    __attribute__((shared)) static Traits::Lds lds;                        \
    mla::hip::decode<mla::hip::WaveDecode<Traits>, Traits::kRows>(a, lds); \
  }
#else
#include "hip_backend/kernels/tile_decode.hpp"
extern __shared__ char dynamic_lds[];
#define MLA_DECODE(name, ...)                                      \
  MLA_KERNEL((mla::hip::DecodeTraits<__VA_ARGS__>::kThreads))      \
  name(const __grid_constant__ mla::hip::DecodeArguments a) {      \
    using Traits = mla::hip::DecodeTraits<__VA_ARGS__>;            \
    mla::hip::decode<mla::hip::TileDecode<Traits>, Traits::kRows>( \
        a, *reinterpret_cast<typename Traits::Lds*>(dynamic_lds)); \
  }
#endif

using mla::hip::Bf16;
using mla::hip::Fp8;

MLA_DECODE(decode_bf16_bf16_r16, Bf16, Bf16, 0)
MLA_DECODE(decode_bf16_fp8_r16, Bf16, Fp8, 0)
MLA_DECODE(decode_fp8_fp8_r16, Fp8, Fp8, 0)
#if MLA_AMD
MLA_DECODE(decode_bf16_bf16_r64, Bf16, Bf16, 1)
MLA_DECODE(decode_bf16_fp8_r64, Bf16, Fp8, 1)
MLA_DECODE(decode_fp8_fp8_r64, Fp8, Fp8, 1)
MLA_DECODE(decode_fp8_fp8_r128, Fp8, Fp8, 2)
#if defined(__gfx950__)
MLA_DECODE(decode_bf16_bf16_r128, Bf16, Bf16, 2)
#endif
#else
MLA_DECODE(decode_bf16_bf16_r32, Bf16, Bf16, 1)
MLA_DECODE(decode_bf16_fp8_r32, Bf16, Fp8, 1)
MLA_DECODE(decode_fp8_fp8_r32, Fp8, Fp8, 1)
MLA_DECODE(decode_bf16_bf16_r64, Bf16, Bf16, 2)
MLA_DECODE(decode_bf16_fp8_r64, Bf16, Fp8, 2)
MLA_DECODE(decode_fp8_fp8_r64, Fp8, Fp8, 2)
#endif
