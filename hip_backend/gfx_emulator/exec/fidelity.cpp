#include "hip_backend/gfx_emulator/exec/fidelity.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace mla::gfx {
namespace {

// Operations whose name begins so, and has the part (if there is one).
struct Rule {
  const char* assumption;
  const char* begin;
  const char* part = "";
};
constexpr Rule rules[] = {
    {"TRANSPOSED_READ", "ds_read_", "_tr_b"},
    {"PERMLANE_SWAP_EXEC", "v_permlane", "_swap_"},
    {"FP8_RANGE", "v_cvt_pk_", "p8_f"},
    {"FP8_RANGE", "v_cvt_pk_", "f8_f"},
    {"FP8_RANGE", "v_cvt_sr_", "p8_f"},
    {"FP8_RANGE", "v_cvt_sr_", "f8_f"},
    {"FP8_RANGE", "v_cvt_scalef32_"},
    {"SIX_BIT_ORDER", "v_cvt_scalef32_", "pk32_"},
    {"SIX_BIT_ORDER", "v_cvt_scalef32_2xpk16_"},
    {"F8F6F4_K", "v_mfma_", "f8f6f4"},
    {"SPARSE_LAYOUT", "v_smfmac_"},
    {"PACKED_F32_CONSTANT", "v_pk_", "_f32"},
    {"SPECIAL_DENORMALS", "v_exp_f32"},
    {"SPECIAL_DENORMALS", "v_log_f32"},
    {"SPECIAL_DENORMALS", "v_rcp_", "f32"},
    {"SPECIAL_DENORMALS", "v_rsq_f32"},
    {"SPECIAL_DENORMALS", "v_sqrt_f32"},
    {"DIV_FIXUP_RANGE", "v_div_fixup_"},
    {"DIV_SCALE_DOWN", "v_div_scale_"},
    {"DIV_FMAS_SCALE", "v_div_fmas_"},
    {"NORM_ROUNDING", "v_cvt_pknorm_"},
    {"NORM_ROUNDING", "v_cvt_pk_u8_f32"},
    {"NORM_ROUNDING", "v_cvt_pkaccum_u8_f32"},
    {"NORM_ROUNDING", "v_cvt_norm_"},
    {"HALF_ROUNDING", "v_cvt_f16_"},
    {"HALF_ROUNDING", "v_cvt_pk_bf16_"},
    {"HALF_ROUNDING", "v_cvt_pk_fp8_"},
    {"HALF_ROUNDING", "v_cvt_pk_bf8_"},
    {"STOCHASTIC_ROUNDING", "v_cvt_sr_"},
    {"STOCHASTIC_ROUNDING", "v_cvt_scalef32_sr_"},
    {"STOCHASTIC_PASSES", "v_cvt_scalef32_sr_pk"},
    {"SLEEP_AND_PRIORITY", "s_sleep"},
    {"SLEEP_AND_PRIORITY", "s_setprio"},
    {"SLEEP_AND_PRIORITY", "s_mem"},
    {"SLEEP_AND_PRIORITY", "s_dcache_"},
    {"SLEEP_AND_PRIORITY", "s_sendmsg"},
    {"SLEEP_AND_PRIORITY", "buffer_wbl2"},
    {"SLEEP_AND_PRIORITY", "buffer_inv"},
    {"SAD_AND_DEBUG", "s_trap"},
    {"D16_OTHER_HALF", "buffer_load_", "_d16"},
    {"D16_OTHER_HALF", "ds_read_", "_d16"},
    {"D16_OTHER_HALF", "flat_load_", "_d16"},
    {"D16_OTHER_HALF", "global_load_", "_d16"},
    {"D16_OTHER_HALF", "scratch_load_", "_d16"},
};

constexpr const char* met_names[] = {"APERTURES", "LDS_DMA_ADDRESS", "LDS_DMA_MASK", "DPP_INACTIVE",
                                     "MEMORY_ORDER"};
static_assert(std::size(met_names) == static_cast<std::size_t>(Met::count));

// One that writes 16 bits and zero above them.
bool clears_the_upper_half(std::string_view name) {
  if (!name.starts_with("v_") || name.starts_with("v_pk_") || name.starts_with("v_cmp") ||
      name.starts_with("v_cvt_pknorm")) {
    return false;
  }
  for (const char* const kept : {"v_mad_", "v_fma_", "v_div_", "v_bitop3", "v_ashr_pk"}) {
    if (name.starts_with(kept)) return false;
  }
  for (const char* const type : {"_f16", "_u16", "_i16", "_b16"}) {
    if (name.ends_with(type)) return !name.starts_with("v_cvt_f32") && !name.starts_with("v_dot");
  }
  return false;
}

}  // namespace

std::vector<Assumed> assumed_in(const Operations& operations,
                                std::span<const std::uint64_t, Group::most_operations> executed,
                                MfmaMode mode) {
  std::map<std::string, std::uint64_t> sum;
  for (unsigned op = 0; op < operations.size(); ++op) {
    if (executed[op] == 0) continue;
    const std::string_view name = operations.at(op).name;
    std::string_view last;  // a name counts once for each assumption
    for (const auto& [assumption, begin, part] : rules) {
      if (assumption == last || !name.starts_with(begin) || name.find(part) == name.npos) continue;
      sum[assumption] += executed[op];
      last = assumption;
    }
    if (clears_the_upper_half(name)) sum["UPPER_HALF"] += executed[op];
    const bool matrix = operations.at(op).kind == Class::mfma;
    if (matrix && mode == MfmaMode::fast) sum["MATRIX_ORDER"] += executed[op];
  }
  for (std::size_t k = 0; k < std::size(met_names); ++k) {
    if (executed[first_met + k] != 0) sum[met_names[k]] += executed[first_met + k];
  }
  std::vector<Assumed> out;
  for (const auto& [name, times] : sum) out.push_back({name, times});
  return out;
}

}  // namespace mla::gfx
