// The scalar encodings: SOP1, SOP2, SOPK, SOPC, SOPP and SMEM.
#include "hip_backend/gfx_emulator/isa/row.hpp"

namespace mla::gfx {
namespace {

using namespace traits;

constexpr Row sop1[] = {
    {0x00, "s_mov_b32", {1, 1, 0, 0}, copy},
    {0x01, "s_mov_b64", {2, 2, 0, 0}, copy},
    {0x02, "s_cmov_b32", {1, 1, 0, 0}, scc_in},
    {0x03, "s_cmov_b64", {2, 2, 0, 0}, scc_in},
    {0x04, "s_not_b32", {1, 1, 0, 0}, invert | scc_out},
    {0x05, "s_not_b64", {2, 2, 0, 0}, invert | scc_out},
    {0x06, "s_wqm_b32", {1, 1, 0, 0}, scc_out},
    {0x07, "s_wqm_b64", {2, 2, 0, 0}, scc_out},
    {0x08, "s_brev_b32", {1, 1, 0, 0}},
    {0x09, "s_brev_b64", {2, 2, 0, 0}},
    {0x0a, "s_bcnt0_i32_b32", {1, 1, 0, 0}, scc_out},
    {0x0b, "s_bcnt0_i32_b64", {1, 2, 0, 0}, scc_out},
    {0x0c, "s_bcnt1_i32_b32", {1, 1, 0, 0}, scc_out},
    {0x0d, "s_bcnt1_i32_b64", {1, 2, 0, 0}, scc_out},
    {0x0e, "s_ff0_i32_b32", {1, 1, 0, 0}},
    {0x0f, "s_ff0_i32_b64", {1, 2, 0, 0}},
    {0x10, "s_ff1_i32_b32", {1, 1, 0, 0}},
    {0x11, "s_ff1_i32_b64", {1, 2, 0, 0}},
    {0x12, "s_flbit_i32_b32", {1, 1, 0, 0}},
    {0x13, "s_flbit_i32_b64", {1, 2, 0, 0}},
    {0x14, "s_flbit_i32", {1, 1, 0, 0}},
    {0x15, "s_flbit_i32_i64", {1, 2, 0, 0}},
    {0x16, "s_sext_i32_i8", {1, 1, 0, 0}},
    {0x17, "s_sext_i32_i16", {1, 1, 0, 0}},
    {0x18, "s_bitset0_b32", {1, 1, 0, 0}},
    {0x19, "s_bitset0_b64", {2, 1, 0, 0}},
    {0x1a, "s_bitset1_b32", {1, 1, 0, 0}},
    {0x1b, "s_bitset1_b64", {2, 1, 0, 0}},
    {0x1c, "s_getpc_b64", {2, 0, 0, 0}},
    {0x1d, "s_setpc_b64", {0, 2, 0, 0}, jump_to_register},
    {0x1e, "s_swappc_b64", {2, 2, 0, 0}, call_to_register},
    {0x20, "s_and_saveexec_b64", {2, 2, 0, 0}, with_exec | both | scc_out},
    {0x21, "s_or_saveexec_b64", {2, 2, 0, 0}, with_exec | either | scc_out},
    {0x22, "s_xor_saveexec_b64", {2, 2, 0, 0}, with_exec | differ | scc_out},
    {0x23, "s_andn2_saveexec_b64", {2, 2, 0, 0}, with_exec | both_second_inverted | scc_out},
    {0x24, "s_orn2_saveexec_b64", {2, 2, 0, 0}, with_exec | either_second_inverted | scc_out},
    {0x25, "s_nand_saveexec_b64", {2, 2, 0, 0}, with_exec | not_both | scc_out},
    {0x26, "s_nor_saveexec_b64", {2, 2, 0, 0}, with_exec | neither | scc_out},
    {0x27, "s_xnor_saveexec_b64", {2, 2, 0, 0}, with_exec | same | scc_out},
    {0x28, "s_quadmask_b32", {1, 1, 0, 0}, scc_out},
    {0x29, "s_quadmask_b64", {2, 2, 0, 0}, scc_out},
    {0x2a, "s_movrels_b32", {1, 1, 1, 0}, relative_source | m0_in},  // the second source is M0
    {0x2b, "s_movrels_b64", {2, 2, 1, 0}, relative_source | m0_in},
    {0x2c, "s_movreld_b32", {1, 1, 1, 0}, m0_in},
    {0x2d, "s_movreld_b64", {2, 2, 1, 0}, m0_in},
    {0x30, "s_abs_i32", {1, 1, 0, 0}, scc_out},
    {0x32, "s_set_gpr_idx_idx", {0, 1, 0, 0}, m0_out},
    {0x33, "s_andn1_saveexec_b64", {2, 2, 0, 0}, with_exec | both_first_inverted | scc_out},
    {0x34, "s_orn1_saveexec_b64", {2, 2, 0, 0}, with_exec | either_first_inverted | scc_out},
    {0x35, "s_andn1_wrexec_b64", {2, 2, 0, 0}, with_exec | both_first_inverted | scc_out},
    {0x36, "s_andn2_wrexec_b64", {2, 2, 0, 0}, with_exec | both_second_inverted | scc_out},
    {0x37, "s_bitreplicate_b64_b32", {2, 1, 0, 0}},
};
static_assert(numbered_once(sop1));

constexpr Row sop2[] = {
    {0x00, "s_add_u32", {1, 1, 1, 0}, scc_out},
    {0x01, "s_sub_u32", {1, 1, 1, 0}, scc_out},
    {0x02, "s_add_i32", {1, 1, 1, 0}, scc_out},
    {0x03, "s_sub_i32", {1, 1, 1, 0}, scc_out},
    {0x04, "s_addc_u32", {1, 1, 1, 0}, scc_in | scc_out},
    {0x05, "s_subb_u32", {1, 1, 1, 0}, scc_in | scc_out},
    {0x06, "s_min_i32", {1, 1, 1, 0}, scc_out},
    {0x07, "s_min_u32", {1, 1, 1, 0}, scc_out},
    {0x08, "s_max_i32", {1, 1, 1, 0}, scc_out},
    {0x09, "s_max_u32", {1, 1, 1, 0}, scc_out},
    {0x0a, "s_cselect_b32", {1, 1, 1, 0}, select | scc_in},
    {0x0b, "s_cselect_b64", {2, 2, 2, 0}, select | scc_in},
    {0x0c, "s_and_b32", {1, 1, 1, 0}, both | scc_out},
    {0x0d, "s_and_b64", {2, 2, 2, 0}, both | scc_out},
    {0x0e, "s_or_b32", {1, 1, 1, 0}, either | scc_out},
    {0x0f, "s_or_b64", {2, 2, 2, 0}, either | scc_out},
    {0x10, "s_xor_b32", {1, 1, 1, 0}, differ | scc_out},
    {0x11, "s_xor_b64", {2, 2, 2, 0}, differ | scc_out},
    {0x12, "s_andn2_b32", {1, 1, 1, 0}, both_second_inverted | scc_out},
    {0x13, "s_andn2_b64", {2, 2, 2, 0}, both_second_inverted | scc_out},
    {0x14, "s_orn2_b32", {1, 1, 1, 0}, either_second_inverted | scc_out},
    {0x15, "s_orn2_b64", {2, 2, 2, 0}, either_second_inverted | scc_out},
    {0x16, "s_nand_b32", {1, 1, 1, 0}, not_both | scc_out},
    {0x17, "s_nand_b64", {2, 2, 2, 0}, not_both | scc_out},
    {0x18, "s_nor_b32", {1, 1, 1, 0}, neither | scc_out},
    {0x19, "s_nor_b64", {2, 2, 2, 0}, neither | scc_out},
    {0x1a, "s_xnor_b32", {1, 1, 1, 0}, same | scc_out},
    {0x1b, "s_xnor_b64", {2, 2, 2, 0}, same | scc_out},
    {0x1c, "s_lshl_b32", {1, 1, 1, 0}, scc_out},
    {0x1d, "s_lshl_b64", {2, 2, 1, 0}, scc_out},
    {0x1e, "s_lshr_b32", {1, 1, 1, 0}, scc_out},
    {0x1f, "s_lshr_b64", {2, 2, 1, 0}, scc_out},
    {0x20, "s_ashr_i32", {1, 1, 1, 0}, scc_out},
    {0x21, "s_ashr_i64", {2, 2, 1, 0}, scc_out},
    {0x22, "s_bfm_b32", {1, 1, 1, 0}},
    {0x23, "s_bfm_b64", {2, 1, 1, 0}},
    {0x24, "s_mul_i32", {1, 1, 1, 0}},
    {0x25, "s_bfe_u32", {1, 1, 1, 0}, scc_out},
    {0x26, "s_bfe_i32", {1, 1, 1, 0}, scc_out},
    {0x27, "s_bfe_u64", {2, 2, 1, 0}, scc_out},
    {0x28, "s_bfe_i64", {2, 2, 1, 0}, scc_out},
    {0x2a, "s_absdiff_i32", {1, 1, 1, 0}, scc_out},
    {0x2c, "s_mul_hi_u32", {1, 1, 1, 0}},
    {0x2d, "s_mul_hi_i32", {1, 1, 1, 0}},
    {0x2e, "s_lshl1_add_u32", {1, 1, 1, 0}, scc_out},
    {0x2f, "s_lshl2_add_u32", {1, 1, 1, 0}, scc_out},
    {0x30, "s_lshl3_add_u32", {1, 1, 1, 0}, scc_out},
    {0x31, "s_lshl4_add_u32", {1, 1, 1, 0}, scc_out},
    {0x32, "s_pack_ll_b32_b16", {1, 1, 1, 0}},
    {0x33, "s_pack_lh_b32_b16", {1, 1, 1, 0}},
    {0x34, "s_pack_hh_b32_b16", {1, 1, 1, 0}},
};
static_assert(numbered_once(sop2));

constexpr Row sopk[] = {
    {0x00, "s_movk_i32", {1, 0, 0, 0}},
    {0x01, "s_cmovk_i32", {1, 0, 0, 0}, scc_in},
    {0x02, "s_cmpk_eq_i32", {0, 1, 0, 0}, scc_out},
    {0x03, "s_cmpk_lg_i32", {0, 1, 0, 0}, scc_out},
    {0x04, "s_cmpk_gt_i32", {0, 1, 0, 0}, scc_out},
    {0x05, "s_cmpk_ge_i32", {0, 1, 0, 0}, scc_out},
    {0x06, "s_cmpk_lt_i32", {0, 1, 0, 0}, scc_out},
    {0x07, "s_cmpk_le_i32", {0, 1, 0, 0}, scc_out},
    {0x08, "s_cmpk_eq_u32", {0, 1, 0, 0}, scc_out},
    {0x09, "s_cmpk_lg_u32", {0, 1, 0, 0}, scc_out},
    {0x0a, "s_cmpk_gt_u32", {0, 1, 0, 0}, scc_out},
    {0x0b, "s_cmpk_ge_u32", {0, 1, 0, 0}, scc_out},
    {0x0c, "s_cmpk_lt_u32", {0, 1, 0, 0}, scc_out},
    {0x0d, "s_cmpk_le_u32", {0, 1, 0, 0}, scc_out},
    {0x0e, "s_addk_i32", {1, 1, 0, 0}, scc_out},
    {0x0f, "s_mulk_i32", {1, 1, 0, 0}},
    {0x11, "s_getreg_b32", {1, 0, 0, 0}},
    {0x12, "s_setreg_b32", {0, 1, 0, 0}},
    {0x14, "s_setreg_imm32_b32", {0, 0, 0, 0}, literal_only},
    {0x15, "s_call_b64", {2, 0, 0, 0}, call},
};
static_assert(numbered_once(sopk));

constexpr Row sopc[] = {
    {0x00, "s_cmp_eq_i32", {0, 1, 1, 0}, scc_out},
    {0x01, "s_cmp_lg_i32", {0, 1, 1, 0}, scc_out},
    {0x02, "s_cmp_gt_i32", {0, 1, 1, 0}, scc_out},
    {0x03, "s_cmp_ge_i32", {0, 1, 1, 0}, scc_out},
    {0x04, "s_cmp_lt_i32", {0, 1, 1, 0}, scc_out},
    {0x05, "s_cmp_le_i32", {0, 1, 1, 0}, scc_out},
    {0x06, "s_cmp_eq_u32", {0, 1, 1, 0}, scc_out},
    {0x07, "s_cmp_lg_u32", {0, 1, 1, 0}, scc_out},
    {0x08, "s_cmp_gt_u32", {0, 1, 1, 0}, scc_out},
    {0x09, "s_cmp_ge_u32", {0, 1, 1, 0}, scc_out},
    {0x0a, "s_cmp_lt_u32", {0, 1, 1, 0}, scc_out},
    {0x0b, "s_cmp_le_u32", {0, 1, 1, 0}, scc_out},
    {0x0c, "s_bitcmp0_b32", {0, 1, 1, 0}, scc_out},
    {0x0d, "s_bitcmp1_b32", {0, 1, 1, 0}, scc_out},
    {0x0e, "s_bitcmp0_b64", {0, 2, 1, 0}, scc_out},
    {0x0f, "s_bitcmp1_b64", {0, 2, 1, 0}, scc_out},
    {0x11, "s_set_gpr_idx_on", {0, 1, 1, 0}, index_on | m0_out},
    {0x12, "s_cmp_eq_u64", {0, 2, 2, 0}, scc_out},
    {0x13, "s_cmp_lg_u64", {0, 2, 2, 0}, scc_out},
};
static_assert(numbered_once(sopc));

constexpr Row sopp[] = {
    {0x00, "s_nop", {0, 0, 0, 0}},
    {0x01, "s_endpgm", {0, 0, 0, 0}, end},
    {0x02, "s_branch", {0, 0, 0, 0}, jump},
    {0x03, "s_wakeup", {0, 0, 0, 0}},
    {0x04, "s_cbranch_scc0", {0, 0, 0, 0}, branch | scc_in},
    {0x05, "s_cbranch_scc1", {0, 0, 0, 0}, branch | scc_in},
    {0x06, "s_cbranch_vccz", {0, 0, 0, 0}, branch | vcc_in},
    {0x07, "s_cbranch_vccnz", {0, 0, 0, 0}, branch | vcc_in},
    {0x08, "s_cbranch_execz", {0, 0, 0, 0}, branch | exec_in},
    {0x09, "s_cbranch_execnz", {0, 0, 0, 0}, branch | exec_in},
    {0x0a, "s_barrier", {0, 0, 0, 0}, barrier},
    {0x0c, "s_waitcnt", {0, 0, 0, 0}, wait},
    {0x0d, "s_sethalt", {0, 0, 0, 0}},
    {0x0e, "s_sleep", {0, 0, 0, 0}},
    {0x0f, "s_setprio", {0, 0, 0, 0}},
    {0x10, "s_sendmsg", {0, 0, 0, 0}},
    {0x11, "s_sendmsghalt", {0, 0, 0, 0}},
    {0x12, "s_trap", {0, 0, 0, 0}},
    {0x13, "s_icache_inv", {0, 0, 0, 0}},
    {0x1c, "s_set_gpr_idx_off", {0, 0, 0, 0}, index_off},
    {0x1d, "s_set_gpr_idx_mode", {0, 0, 0, 0}, index_mode | m0_out},
};
static_assert(numbered_once(sopp));

constexpr Row smem[] = {
    {0x00, "s_load_dword", {1, 2, 1, 0}},
    {0x01, "s_load_dwordx2", {2, 2, 1, 0}},
    {0x02, "s_load_dwordx4", {4, 2, 1, 0}},
    {0x03, "s_load_dwordx8", {8, 2, 1, 0}},
    {0x04, "s_load_dwordx16", {16, 2, 1, 0}},
    {0x08, "s_buffer_load_dword", {1, 4, 1, 0}},
    {0x09, "s_buffer_load_dwordx2", {2, 4, 1, 0}},
    {0x0a, "s_buffer_load_dwordx4", {4, 4, 1, 0}},
    {0x0b, "s_buffer_load_dwordx8", {8, 4, 1, 0}},
    {0x0c, "s_buffer_load_dwordx16", {16, 4, 1, 0}},
    {0x20, "s_dcache_inv", {0, 0, 0, 0}},
    {0x21, "s_dcache_wb", {0, 0, 0, 0}},
    {0x22, "s_dcache_inv_vol", {0, 0, 0, 0}},
    {0x23, "s_dcache_wb_vol", {0, 0, 0, 0}},
    {0x24, "s_memtime", {2, 0, 0, 0}},
    {0x25, "s_memrealtime", {2, 0, 0, 0}},
};
static_assert(numbered_once(smem));

}  // namespace

std::span<const Row> sop1_rows() {
  return sop1;
}
std::span<const Row> sop2_rows() {
  return sop2;
}
std::span<const Row> sopk_rows() {
  return sopk;
}
std::span<const Row> sopc_rows() {
  return sopc;
}
std::span<const Row> sopp_rows() {
  return sopp;
}
std::span<const Row> smem_rows() {
  return smem;
}

}  // namespace mla::gfx
