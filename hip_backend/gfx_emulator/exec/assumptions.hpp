// Owns: what this emulator assumes because no public manual states it, each by name and in one
// place. A comment elsewhere refers to a name from here. A GPU can be asked:
// hip_backend/assumptions/ has a small kernel for each name, or the reason why there is none.
#pragma once

#include <cstdint>

namespace mla::gfx::assumed {

// APERTURES. Flat addresses of LDS and scratch, as the Linux driver sets them up: the upper halves
// of 64-bit addresses.
constexpr std::uint32_t shared_aperture = 0x00010000;
constexpr std::uint32_t private_aperture = 0x00020000;

// TRANSPOSED_READ. ds_read_b64_tr_b16/b8/b4: in a block of 16 lanes, with E = 64 / bits elements a
// lane and L = 16 / E, element j of lane n is element n % E of lane L * j + n / E.
// ds_read_b96_tr_b6 has the same rule with E = 16, L = 1.

// LDS_DMA_ADDRESS. A load to LDS of n dwords writes to M0 + offset + 4 * n * lane; lanes that are
// out of a buffer's range write zero, lanes that EXEC switches off write nothing. The address is in
// the lower 18 bits of M0.
constexpr std::uint32_t lds_address_mask = 0x3ffff;

// LDS_DMA_MASK. A load to LDS writes nothing for lanes whose place is past the allocation. Triton
// masks a wave in this way (M0 = 0x7fffffff). With an M0 above lds_address_mask the emulator does
// the same and counts the lanes; any other place past the allocation is a fault (OUT_OF_RANGE_LDS).

// MATRIX_ORDER. Matrix instructions in the mode `fast` add in f32, in ascending order of k. The
// hardware groups and truncates the products, so the last bits differ (the mode `exact`).

// PERMLANE_SWAP_EXEC. v_permlane16_swap and v_permlane32_swap ignore EXEC.

// DPP_INACTIVE. A DPP source lane that EXEC switches off reads as zero, whatever bound_ctrl says;
// the manuals speak of lanes out of range only.

// FP8_RANGE. v_cvt_pk_fp8_f32 and its relatives turn what is out of range into NaN (e5m2 OCP:
// infinity), and saturate only with MODE.fp16_ovfl or clamp. v_cvt_scalef32_* do the same after the
// division by their scale; floats of four and six bits always saturate, and NaN becomes the largest
// number, without its sign. The scale is the exponent of an f32 alone: 0 is 2^-127, 255 makes NaN.
constexpr std::uint32_t fp16_ovfl_bit = 23;

// F8F6F4_K. v_mfma_*_f8f6f4: lane group g = lane / rows holds the k from 32 * g on, in ascending
// order, if they have four or six bits; of eight bits it holds the 16 from 16 * g on and the 16
// from K / 2 + 16 * g on. The scale of lane group g belongs to the k from 32 * g on, wherever they
// are. Seen on a gfx950, for eight bits, by the test mx_mfma_op of ROCm's composable_kernel, and
// Triton relies on it.

// SIX_BIT_ORDER. v_cvt_scalef32_pk32_* and _sr_pk32_*: number k of 32 has the bits from 6 * k on of
// six registers, or half k % 2 of register k / 2, or register k. _2xpk16_*: number 2 * k comes from
// register k of the first source, number 2 * k + 1 from register k of the second. So say the pseudo
// code of AMD's machine-readable ISA of CDNA 4 and tests that others published for a gfx950.

// SPARSE_LAYOUT. v_smfmac_*: the layouts of AMD's matrix instruction calculator, which has gfx942
// alone, hold for the same shapes of gfx950. In gfx950's shapes of twice the depth, the registers
// of B are two halves of the depth, each laid out like a whole B of four registers; A stays one run
// for each lane. Probes of a gfx950 that were published with a kernel (16x16x64_f16,
// 16x16x128_fp8_fp8) show this; 32x32 and i8 are taken to be alike. There the index has two sets
// for 16-bit types and one for 8-bit types, and ABID counts modulo the sets. Any two places may be
// named, in any order.

// PACKED_F32_CONSTANT. An inline constant or literal of a packed f32 operation is the value of both
// halves, an SGPR source is a pair.

// SPECIAL_DENORMALS. v_exp, v_log, v_rcp, v_rsq and v_sqrt of f32 flush denormal sources and
// results in every mode, and are correctly rounded otherwise (the hardware promises 1 ulp).

// DIV_FIXUP_RANGE. v_div_fixup returns zero where the exponents of numerator and denominator say
// that the quotient is below every number; a quotient that is NaN although both are finite and not
// zero has overflowed, and becomes infinite.

// DIV_SCALE_DOWN. Where the inverse of the denominator and the quotient are both denormal,
// v_div_scale scales the denominator down: scaled up, as the manual has it, it would be infinite.

// DIV_FMAS_SCALE. v_div_fmas multiplies by 2^64 (f64: 2^128) where the exponent of the addend is
// positive and by the inverse elsewhere; the manuals have 2^32 (2^64) alone, which would not undo
// what their v_div_scale does.

// UPPER_HALF. An operation on 16 bits writes zero to the upper half of its register, but for those
// that the manual or their name says keep it: v_mad, v_fma and v_div_fixup (not the legacy ones),
// v_bitop3_b16, v_ashr_pk, v_cvt_sr and v_cvt_pk of 8 bits.

// D16_OTHER_HALF. A load into one half of a register keeps the other half. Parts with SRAM-ECC, as
// these are, may write zero there: LLVM relies on neither (d16PreservesUnusedBits in AMDGPU's
// GCNSubtarget.h), so compiled code does not show the difference. The pseudo code of AMD's
// machine-readable ISA of CDNA 4 says that it is preserved.

// NORM_ROUNDING. v_cvt_pknorm_*, v_cvt_norm_*, v_cvt_pk_u8_f32 and v_cvt_pkaccum_u8_f32 saturate,
// and round to nearest even; NaN is zero.

// HALF_ROUNDING. Conversions to f16, bf16 and fp8 round to nearest even whatever MODE says, except
// where the name says otherwise (pkrtz, sr).

// STOCHASTIC_ROUNDING. v_cvt_sr_* and v_cvt_scalef32_sr_*: the random bits are added below the last
// kept bit, then the value is truncated. AMD's pseudo code of v_cvt_sr_fp8_f32 and v_cvt_sr_bf8_f32
// lets the sum wrap within the fraction and rounds it to nearest once more; that is not followed.

// STOCHASTIC_PASSES. v_cvt_scalef32_sr_pk*: the manual has a new random number, made by v_prng_b32,
// for each pass. A pass is one number of the result, in ascending order, and the first has the
// random bits as they are: so says the pseudo code of AMD's machine-readable ISA of CDNA 4.

// OUT_OF_RANGE_LDS. A lane that reads LDS past the allocation gets zero, and its write is dropped;
// the emulator reports both as a fault.

// UNWRITTEN_REGISTERS. VGPRs hold 0xA5A5A5A5 at the start of a wave, SGPRs likewise, unless the
// kernel descriptor sets them up.
constexpr std::uint32_t unwritten = 0xa5a5a5a5;

// MEMORY_ORDER. With late memory: what vmcnt counts takes effect in its order, and so do the LDS
// operations that lgkmcnt counts; FLAT comes in any order for both counters, but no later operation
// of its wave overtakes it in memory. Scalar loads come in any order. A full counter holds the wave
// until the oldest operation is done.

// SLEEP_AND_PRIORITY. s_sleep, s_setprio, s_nop, cache control and s_sendmsg take one turn and do
// nothing else. s_memtime counts executed instructions of the wave.

// SAD_AND_DEBUG. s_trap 2 (abort) ends the launch with a fault, s_trap 3 (debug) does nothing.

}  // namespace mla::gfx::assumed
