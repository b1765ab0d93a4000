// One kernel for each assumption of the emulator that a kernel can look at:
// hip_backend/assumptions/.
//
// All take one wave. A lane has 16 dwords of input and 16 of output; what a kernel does not write
// keeps its poison. Inline assembly where the compiler would choose other instructions; the waits
// and the s_nop in it keep the hardware's rules, which the compiler does not insert there.
#include "hip_backend/kernels/assumption_arguments.hpp"
#include "hip_backend/kernels/gpu.hpp"

using namespace mla::hip;

namespace {

constexpr int kWords = kAssumptionWords;

using Pair = __attribute__((ext_vector_type(2))) u32;
using Triple = __attribute__((ext_vector_type(3))) u32;
using Quad = __attribute__((ext_vector_type(4))) u32;
using Floats = __attribute__((ext_vector_type(2))) float;

MLA_DEVICE const u32* input_of(const AssumptionArguments& a) {
  return a.in + thread_id() * kWords;
}
MLA_DEVICE u32* output_of(const AssumptionArguments& a) {
  return a.out + thread_id() * kWords;
}
template <class T>
MLA_DEVICE u32 lds_offset(T* pointer) {
  return static_cast<u32>(
      reinterpret_cast<u64>((__attribute__((address_space(3))) const void*)pointer));
}

}  // namespace

MLA_KERNEL(64) apertures(const AssumptionArguments a) {
  u64 shared, scratch;
  asm volatile("s_mov_b64 %0, src_shared_base\n s_mov_b64 %1, src_private_base"
               : "=s"(shared), "=s"(scratch));
  output_of(a)[0] = static_cast<u32>(shared >> 32);
  output_of(a)[1] = static_cast<u32>(scratch >> 32);
}

// Input: voffset, whether the lane is on. Output: the lane's dword of LDS.
MLA_KERNEL(64) lds_dma(const AssumptionArguments a) {
  __attribute__((shared)) u32 values[68];
  values[thread_id()] = 0xdddd0000U + static_cast<u32>(thread_id());
  if (thread_id() < 4) values[64 + thread_id()] = 0xdddd0040U + static_cast<u32>(thread_id());
  barrier();
  const u64 base = reinterpret_cast<u64>(a.in);
  const Quad resource = {static_cast<u32>(base), static_cast<u32>(base >> 32),
                         64 * kWords * sizeof(u32), 0x00020000U};
  const u32 from = input_of(a)[0];
  if (input_of(a)[1] != 0)
    asm volatile(
        "s_mov_b32 m0, %0\n s_nop 4\n buffer_load_dword %1, %2, 0 offen offset:4 lds\n"
        " s_waitcnt vmcnt(0)" ::"s"(lds_offset(values)),
        "v"(from), "s"(resource)
        : "memory");
  barrier();
  output_of(a)[0] = values[thread_id()];
  output_of(a)[1] = values[64 + thread_id() % 4];
}

// Half of the lanes load to LDS, in a wave whose M0 says where: twice an address, once none.
MLA_KERNEL(64) lds_dma_mask(const AssumptionArguments a) {
  __attribute__((shared)) u32 values[128];
  values[thread_id()] = values[64 + thread_id()] = 0xdddd0000U + static_cast<u32>(thread_id());
  barrier();
  const u64 base = reinterpret_cast<u64>(a.in);
  const Quad resource = {static_cast<u32>(base), static_cast<u32>(base >> 32),
                         64 * kWords * sizeof(u32), 0x00020000U};
  const u32 from = static_cast<u32>(thread_id() * kWords * sizeof(u32));
  if (thread_id() % 2 == 0)
    asm volatile(
        "s_mov_b32 m0, %0\n s_nop 4\n buffer_load_dword %2, %3, 0 offen lds\n"
        " s_mov_b32 m0, %1\n s_nop 4\n buffer_load_dword %2, %3, 0 offen lds\n"
        " s_waitcnt vmcnt(0)" ::"s"(lds_offset(values)),
        "s"(0x7fffffffU), "v"(from), "s"(resource)
        : "memory");
  barrier();
  output_of(a)[0] = values[thread_id()];
  output_of(a)[1] = values[64 + thread_id()];
}

// The allocation of this kernel ends far below the address.
MLA_KERNEL(64) lds_out_of_range(const AssumptionArguments a) {
  __attribute__((shared)) u32 values[64];
  values[thread_id()] = input_of(a)[0];
  barrier();
  u32 inside, outside;
  asm volatile("ds_read_b32 %0, %2\n ds_read_b32 %1, %3\n s_waitcnt lgkmcnt(0)"
               : "=&v"(inside), "=&v"(outside)
               : "v"(lds_offset(&values[thread_id()])), "v"(0xf000U)
               : "memory");
  output_of(a)[0] = inside;
  output_of(a)[1] = outside;
}

// Input: a value, and what the destination holds. Output: the other lane of each pair, of which the
// odd one is off, without and with bound_ctrl.
MLA_KERNEL(64) dpp_inactive(const AssumptionArguments a) {
  u32 kept = input_of(a)[1], bounded = input_of(a)[1];
  u64 saved;
  asm volatile(
      "s_mov_b64 %2, exec\n s_mov_b64 exec, %3\n s_nop 7\n"
      " v_mov_b32_dpp %0, %4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n"
      " v_mov_b32_dpp %1, %4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
      " s_nop 7\n s_mov_b64 exec, %2\n s_nop 4"
      : "+v"(kept), "+v"(bounded), "=&s"(saved)
      : "s"(0x5555555555555555ULL), "v"(input_of(a)[0]));
  output_of(a)[0] = kept;
  output_of(a)[1] = bounded;
}

// Input: a value. Output: e4m3 and e5m2, without and with MODE.fp16_ovfl.
MLA_KERNEL(64) fp8_range(const AssumptionArguments a) {
  const u32 value = input_of(a)[0];
  u32 e4m3 = 0, e5m2 = 0, e4m3_saturated = 0, e5m2_saturated = 0;
  asm volatile(
      "v_cvt_pk_fp8_f32 %0, %4, %4\n v_cvt_pk_bf8_f32 %1, %4, %4\n"
      " s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n s_nop 4\n"
      " v_cvt_pk_fp8_f32 %2, %4, %4\n v_cvt_pk_bf8_f32 %3, %4, %4\n"
      " s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 0\n s_nop 4"
      : "+v"(e4m3), "+v"(e5m2), "+v"(e4m3_saturated), "+v"(e5m2_saturated)
      : "v"(value));
  u32* const out = output_of(a);
  out[0] = e4m3 & 0xffff;
  out[1] = e5m2 & 0xffff;
  out[2] = e4m3_saturated & 0xffff;
  out[3] = e5m2_saturated & 0xffff;
}

// Input: a value and random bits. Output: e4m3.
MLA_KERNEL(64) stochastic_rounding(const AssumptionArguments a) {
  u32 byte = 0;
  asm volatile("v_cvt_sr_fp8_f32 %0, %1, %2"
               : "+v"(byte)
               : "v"(input_of(a)[0]), "v"(input_of(a)[1]));
  output_of(a)[0] = byte & 0xff;
}

// Input: a value. Output: f16 and e4m3 while MODE says that everything rounds towards zero.
MLA_KERNEL(64) half_rounding(const AssumptionArguments a) {
  u32 half, byte = 0;
  asm volatile(
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15\n s_nop 4\n"
      " v_cvt_f16_f32 %0, %2\n v_cvt_pk_fp8_f32 %1, %2, %2\n"
      " s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0\n s_nop 4"
      : "=&v"(half), "+v"(byte)
      : "v"(input_of(a)[0]));
  output_of(a)[0] = half & 0xffff;
  output_of(a)[1] = byte & 0xff;
}

// Input: two values, and two that are the same in all lanes. Output: with a constant, with SGPRs.
MLA_KERNEL(64) packed_constant(const AssumptionArguments a) {
  const Floats value = {bits_as<float>(input_of(a)[0]), bits_as<float>(input_of(a)[1])};
  const Floats uniform = {bits_as<float>(a.in[2]), bits_as<float>(a.in[3])};
  Floats with_constant, with_pair;
  asm volatile("v_pk_add_f32 %0, %2, 1.0\n v_pk_mul_f32 %1, %2, %3"
               : "=&v"(with_constant), "=&v"(with_pair)
               : "v"(value), "s"(uniform));
  u32* const out = output_of(a);
  out[0] = bits_as<u32>(with_constant[0]);
  out[1] = bits_as<u32>(with_constant[1]);
  out[2] = bits_as<u32>(with_pair[0]);
  out[3] = bits_as<u32>(with_pair[1]);
}

MLA_KERNEL(64) special_denormals(const AssumptionArguments a) {
  u32 exp, log, rcp, rsq, sqrt;
  asm volatile(
      "v_exp_f32 %0, %5\n v_log_f32 %1, %5\n v_rcp_f32 %2, %5\n v_rsq_f32 %3, %5\n"
      " v_sqrt_f32 %4, %5\n s_nop 4"
      : "=&v"(exp), "=&v"(log), "=&v"(rcp), "=&v"(rsq), "=&v"(sqrt)
      : "v"(input_of(a)[0]));
  u32* const out = output_of(a);
  out[0] = exp;
  out[1] = log;
  out[2] = rcp;
  out[3] = rsq;
  out[4] = sqrt;
}

// Input: quotient, denominator, numerator.
MLA_KERNEL(64) div_fixup(const AssumptionArguments a) {
  u32 fixed;
  asm volatile("v_div_fixup_f32 %0, %1, %2, %3"
               : "=v"(fixed)
               : "v"(input_of(a)[0]), "v"(input_of(a)[1]), "v"(input_of(a)[2]));
  output_of(a)[0] = fixed;
}

// Input: denominator, numerator.
MLA_KERNEL(64) div_scale(const AssumptionArguments a) {
  u32 scaled;
  asm volatile("v_div_scale_f32 %0, vcc, %1, %1, %2"
               : "=v"(scaled)
               : "v"(input_of(a)[0]), "v"(input_of(a)[1])
               : "vcc");
  output_of(a)[0] = scaled;
}

// Input: the three operands. Output: the sum of an operation that VCC says is to be scaled.
MLA_KERNEL(64) div_fmas(const AssumptionArguments a) {
  u32 sum;
  asm volatile("s_mov_b64 vcc, exec\n s_nop 4\n v_div_fmas_f32 %0, %1, %2, %3"
               : "=v"(sum)
               : "v"(input_of(a)[0]), "v"(input_of(a)[1]), "v"(input_of(a)[2])
               : "vcc");
  output_of(a)[0] = sum;
}

// Input: what the registers hold before. Output: a sum, a conversion, a fused sum, all 2 in f16.
MLA_KERNEL(64) upper_half(const AssumptionArguments a) {
  u32 sum = input_of(a)[0], converted = input_of(a)[0], fused = input_of(a)[0];
  asm volatile("v_add_f16 %0, 1.0, %3\n v_cvt_f16_f32 %1, %4\n v_fma_f16 %2, %3, %3, %3"
               : "+v"(sum), "+v"(converted), "+v"(fused)
               : "v"(0x3c00U), "v"(bits_as<u32>(2.0F)));
  output_of(a)[0] = sum;
  output_of(a)[1] = converted;
  output_of(a)[2] = fused;
}

// Input: what the registers hold before, and the word that is loaded from. Output: its lower 16
// bits as the lower and as the upper half, and its first byte as the lower half.
MLA_KERNEL(64) d16_other_half(const AssumptionArguments a) {
  u32 low = input_of(a)[0], high = input_of(a)[0], byte = input_of(a)[0];
  asm volatile(
      "global_load_short_d16 %0, %3, off\n global_load_short_d16_hi %1, %3, off\n"
      " global_load_ubyte_d16 %2, %3, off\n s_waitcnt vmcnt(0)"
      : "+&v"(low), "+&v"(high), "+&v"(byte)
      : "v"(input_of(a) + 1)
      : "memory");
  output_of(a)[0] = low;
  output_of(a)[1] = high;
  output_of(a)[2] = byte;
}

// Input: a value. Output: as a signed and as an unsigned fraction of 16 bits, and as a byte.
MLA_KERNEL(64) norm_rounding(const AssumptionArguments a) {
  u32 fraction, positive, byte;
  asm volatile(
      "v_cvt_pknorm_i16_f32 %0, %3, %3\n v_cvt_pknorm_u16_f32 %1, %3, %3\n"
      " v_cvt_pk_u8_f32 %2, %3, 0, 0"
      : "=&v"(fraction), "=&v"(positive), "=&v"(byte)
      : "v"(input_of(a)[0]));
  output_of(a)[0] = fraction & 0xffff;
  output_of(a)[1] = positive & 0xffff;
  output_of(a)[2] = byte;
}

#if defined(__gfx950__)
// Input: two values. Output: both after each swap, which only every third lane asks for.
MLA_KERNEL(64) permlane_swap(const AssumptionArguments a) {
  const u32 first = input_of(a)[0], second = input_of(a)[1];
  u32 a16 = first, b16 = second, a32 = first, b32 = second;
  u64 saved;
  asm volatile(
      "s_mov_b64 %4, exec\n s_mov_b64 exec, %5\n s_nop 7\n"
      " v_permlane16_swap_b32 %0, %1\n v_permlane32_swap_b32 %2, %3\n s_nop 7\n"
      " s_mov_b64 exec, %4\n s_nop 4"
      : "+v"(a16), "+v"(b16), "+v"(a32), "+v"(b32), "=&s"(saved)
      : "s"(0x9249249249249249ULL));
  u32* const out = output_of(a);
  out[0] = a16;
  out[1] = b16;
  out[2] = a32;
  out[3] = b32;
}

// Input: three dwords a lane, which LDS holds lane by lane. Output: b16, b8, b4 of the first two,
// then b6 of all three.
MLA_KERNEL(64) transposed_read(const AssumptionArguments a) {
  __attribute__((shared)) __attribute__((aligned(16))) u32 values[64 * 4];
  const int lane = thread_id();
  for (int k = 0; k < 2; ++k) values[lane * 2 + k] = input_of(a)[k];
  barrier();
  Pair b16, b8, b4;
  asm volatile(
      "ds_read_b64_tr_b16 %0, %3\n ds_read_b64_tr_b8 %1, %3\n ds_read_b64_tr_b4 %2, %3\n"
      " s_waitcnt lgkmcnt(0)"
      : "=&v"(b16), "=&v"(b8), "=&v"(b4)
      : "v"(lds_offset(&values[lane * 2]))
      : "memory");
  barrier();
  for (int k = 0; k < 3; ++k) values[lane * 4 + k] = input_of(a)[k];
  barrier();
  Triple b6;
  asm volatile("ds_read_b96_tr_b6 %0, %1\n s_waitcnt lgkmcnt(0)"
               : "=&v"(b6)
               : "v"(lds_offset(&values[lane * 4]))
               : "memory");
  u32* const out = output_of(a);
  for (int k = 0; k < 2; ++k) {
    out[k] = b16[k];
    out[2 + k] = b8[k];
    out[4 + k] = b4[k];
  }
  for (int k = 0; k < 3; ++k) out[6 + k] = b6[k];
}

// Input: 8 dwords of A (e4m3), 4 of B (fp4), a scale byte of A, one of B. Output: 4 floats, plain
// and scaled.
MLA_KERNEL(64) f8f6f4(const AssumptionArguments a) {
  using Operand = __attribute__((ext_vector_type(8))) int;
  using Block = __attribute__((ext_vector_type(4))) float;
  const u32* const in = input_of(a);
  Operand left, right = {};
  for (int k = 0; k < 8; ++k) left[k] = static_cast<int>(in[k]);
  for (int k = 0; k < 4; ++k) right[k] = static_cast<int>(in[8 + k]);
  const Block zero = {};
  const Block plain =
      __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(left, right, zero, 0, 4, 0, 0, 0, 0);
  const Block scaled = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
      left, right, zero, 0, 4, 0, static_cast<int>(in[12]), 0, static_cast<int>(in[13]));
  for (int k = 0; k < 4; ++k) {
    output_of(a)[k] = bits_as<u32>(plain[k]);
    output_of(a)[4 + k] = bits_as<u32>(scaled[k]);
  }
}

// Input: 32 halves that six bits (e2m3) hold. Output: their codes, from the halves; then from two
// sources of sixteen floats each; then how many dwords are others when the codes are decoded.
MLA_KERNEL(64) six_bit_order(const AssumptionArguments a) {
  using Halves = __attribute__((ext_vector_type(32))) _Float16;
  using Sixteen = __attribute__((ext_vector_type(16))) float;
  union {
    Halves halves;
    u32 words[16];
  } given, decoded;
  for (int k = 0; k < 16; ++k) given.words[k] = input_of(a)[k];
  Sixteen lower, upper;
  for (int k = 0; k < 16; ++k) {
    lower[k] = static_cast<float>(given.halves[k]);
    upper[k] = static_cast<float>(given.halves[16 + k]);
  }
  const auto whole = __builtin_amdgcn_cvt_scalef32_pk32_fp6_f16(given.halves, 1.0F);
  const auto mixed = __builtin_amdgcn_cvt_scalef32_2xpk16_fp6_f32(lower, upper, 1.0F);
  decoded.halves = __builtin_amdgcn_cvt_scalef32_pk32_f16_fp6(whole, 1.0F);
  u32* const out = output_of(a);
  for (int k = 0; k < 6; ++k) {
    out[k] = whole[k];
    out[6 + k] = mixed[k];
  }
  u32 others = 0;
  for (int k = 0; k < 16; ++k) others += decoded.words[k] != given.words[k] ? 1 : 0;
  out[12] = others;
}

// Input: a value and random bits. Output: the value twice in four bits, 32 times in six.
MLA_KERNEL(64) stochastic_passes(const AssumptionArguments a) {
  const auto value = bits_as<float>(input_of(a)[0]);
  const u32 random = input_of(a)[1];
  const Floats pair = {value, value};
  __attribute__((ext_vector_type(32))) float all;
  for (int k = 0; k < 32; ++k) all[k] = value;
  const auto six = __builtin_amdgcn_cvt_scalef32_sr_pk32_fp6_f32(all, random, 1.0F);
  u32* const out = output_of(a);
  out[0] = __builtin_amdgcn_cvt_scalef32_sr_pk_fp4_f32(0, pair, random, 1.0F, 0) & 0xff;
  for (int k = 0; k < 6; ++k) out[1 + k] = six[k];
}
#endif
