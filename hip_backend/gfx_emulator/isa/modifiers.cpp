#include "hip_backend/gfx_emulator/isa/modifiers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/text.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

std::string number(unsigned value) {
  return std::to_string(value);
}

// "[1,0,1]", the bits from the lowest.
std::string list(unsigned bits, unsigned count) {
  std::string out = "[";
  for (unsigned k = 0; k < count; ++k) out += (k == 0 ? "" : ",") + number(bits >> k & 1);
  return out + "]";
}

unsigned sources_of(const Operation& operation, const Inst& inst) {
  unsigned count = 0;
  for (unsigned k = 0; k < 3; ++k) {
    count += inst.src[k] != code::none && !is_tied(operation, inst, k) ? 1 : 0;
  }
  return count;
}

std::string memory_modifiers(const Operation& operation, const Inst& inst) {
  std::string out;
  if (inst.idxen) out += " idxen";
  if (inst.offen) out += " offen";
  if (operation.has(traits::two_offsets)) {
    if (inst.imm != 0) out += " offset0:" + std::to_string(inst.imm);
    if (inst.offset1 != 0) out += " offset1:" + number(inst.offset1);
  } else if (inst.imm != 0) {
    out += " offset:" + std::to_string(inst.imm);
  }
  if (inst.glc) out += " sc0";
  if (inst.nt) out += " nt";
  if (inst.sc1) out += " sc1";
  if (inst.lds) out += " lds";
  return out;
}

std::string dpp_control(unsigned ctrl) {
  static constexpr std::array waves = {"wave_shl:1", "wave_rol:1", "wave_shr:1", "wave_ror:1"};
  if (ctrl < 0x100) {
    std::string out = "quad_perm:[";
    for (unsigned k = 0; k < 4; ++k) out += (k == 0 ? "" : ",") + number(ctrl >> 2 * k & 3);
    return out + "]";
  }
  const std::string amount = number(ctrl & 15);
  switch (ctrl >> 4) {
    case 0x10:
      return "row_shl:" + amount;
    case 0x11:
      return "row_shr:" + amount;
    case 0x12:
      return "row_ror:" + amount;
    case 0x13:
      return waves[ctrl >> 2 & 3];
    case 0x14:
      return std::array{"row_mirror", "row_half_mirror", "row_bcast:15", "row_bcast:31"}[ctrl & 3];
    default:
      return "row_newbcast:" + amount;
  }
}

std::string dpp_modifiers(const Inst& inst) {
  return " " + dpp_control(inst.dpp_ctrl) + " row_mask:" + hex(inst.row_mask) +
         " bank_mask:" + hex(inst.bank_mask) + (inst.bound_ctrl ? " bound_ctrl:1" : "");
}

std::string sdwa_modifiers(const Inst& inst) {
  static constexpr std::array parts = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                       "WORD_0", "WORD_1", "DWORD",  "?"};
  static constexpr std::array unused = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
  if (inst.src[0] == code::none) return "";
  std::string out;
  if (inst.width[0] == 1 && inst.dst != code::none) {
    out +=
        std::string(" dst_sel:") + parts[inst.dst_sel] + " dst_unused:" + unused[inst.dst_unused];
  }
  out += std::string(" src0_sel:") + parts[inst.sel[0]];
  if (inst.src[1] != code::none) out += std::string(" src1_sel:") + parts[inst.sel[1]];
  return out;
}

std::string matrix_modifiers(const Operation& operation, const Inst& inst) {
  std::string out;
  if (inst.words == 4 && inst.op_sel != 0) out += " op_sel:" + list(inst.op_sel, 3);
  if (inst.words == 4) out += " op_sel_hi:" + list(inst.op_sel_hi, 3);
  if (inst.cbsz != 0) out += " cbsz:" + number(inst.cbsz);
  if (inst.abid != 0) out += " abid:" + number(inst.abid);
  // Matrices of f64 have no lane pattern there, but the signs of the sources.
  const bool signs = operation.name.ends_with("f64");
  if (inst.blgp != 0) out += signs ? " neg:" + list(inst.blgp, 3) : " blgp:" + number(inst.blgp);
  return out;
}

std::string packed_modifiers(const Operation& operation, const Inst& inst) {
  const unsigned count = sources_of(operation, inst);
  const bool mixed = has_signs(operation, inst);  // its sources are whole unless op_sel_hi says so
  const bool halves =
      !operation.name.starts_with("v_dot4") && !operation.name.starts_with("v_dot8");
  std::string out;
  if (halves && inst.op_sel != 0) out += " op_sel:" + list(inst.op_sel, count);
  const bool one_half = operation.has(traits::one_half_each);  // op_sel alone chooses there
  if (halves && !one_half &&
      (inst.op_sel_hi & ((1U << count) - 1)) != (mixed ? 0 : (1U << count) - 1)) {
    out += " op_sel_hi:" + list(inst.op_sel_hi, count);
  }
  if (!mixed && inst.neg != 0) out += " neg_lo:" + list(inst.neg, count);
  if (!mixed && inst.abs != 0) out += " neg_hi:" + list(inst.abs, count);
  return out;
}

// Operations that choose a byte of the destination count an operand that their text leaves out.
unsigned op_sel_places(const Operation& operation, const Inst& inst) {
  const std::string& name = operation.name;
  const bool byte_of_result = name.ends_with("fp8_f32") || name.ends_with("bf8_f32")
                                  ? name.starts_with("v_cvt_sr_")
                                  : name.starts_with("v_cvt_scalef32_pk_fp4_");
  return std::min(4U, sources_of(operation, inst) + (byte_of_result ? 2 : 1));
}

std::string vector_modifiers(const Operation& operation, const Inst& inst) {
  static constexpr std::array omod = {"", " mul:2", " mul:4", " div:2"};
  std::string out;
  if (operation.has(traits::truth_table) && inst.imm != 0) {
    out += " bitop3:" + (inst.imm <= 10 ? std::to_string(inst.imm) : offset_text(inst.imm));
  }
  if (inst.kind == Class::packed) {
    out += packed_modifiers(operation, inst);
  } else if (inst.op_sel != 0) {
    const unsigned places = op_sel_places(operation, inst);  // the last is the destination's
    const unsigned sources = inst.op_sel & ((1U << (places - 1)) - 1);
    out += " op_sel:" + list(sources | (inst.op_sel >> 3 & 1) << (places - 1), places);
  }
  if (inst.clamp) out += " clamp";
  out += omod[inst.omod];
  if (inst.sdwa) out += sdwa_modifiers(inst);
  if (inst.dpp) out += dpp_modifiers(inst);
  return out;
}

}  // namespace

std::string offset_text(std::int32_t offset) {
  return offset < 0 ? "-" + hex(-static_cast<std::int64_t>(offset))
                    : hex(static_cast<std::uint32_t>(offset));
}

bool has_signs(const Operation& operation, const Inst& inst) {
  if (!inst.is_vector) return false;
  return inst.kind != Class::packed || operation.name.starts_with("v_fma_mix");
}

bool is_tied(const Operation& operation, const Inst& inst, unsigned k) {
  if (operation.encoding == Encoding::sopk) {
    return k == 0 && (inst.src[0] == inst.dst || inst.src[0] == code::literal);
  }
  if (operation.encoding == Encoding::sop1) return k == 1;  // M0 of a relative move
  if (operation.has(traits::accumulates)) return k == 2;
  // The addend of a sparse matrix instruction; with `sdst` it is a scale of v_mfma_scale.
  if (inst.kind == Class::mfma && k == 3) return inst.sdst == code::none;
  // v_fmac; v_fmamk has its literal in the middle, and may happen to add what it overwrites.
  const bool accumulates = operation.encoding == Encoding::vop2 && inst.src[1] != code::literal;
  return accumulates && k == 2 && inst.src[2] == inst.dst;
}

std::string modifiers_of(const Operation& operation, const Inst& inst) {
  if (inst.kind == Class::mfma) return matrix_modifiers(operation, inst);
  if (inst.is_vector) return vector_modifiers(operation, inst);
  if (inst.kind == Class::smem) {
    const bool offset = inst.src[1] != code::none && inst.imm != 0;
    return (offset ? " offset:" + offset_text(inst.imm) : "") + (inst.glc ? " glc" : "");
  }
  if (inst.kind == Class::lds || is_vector_memory(inst.kind) ||
      operation.encoding == Encoding::mubuf) {
    return memory_modifiers(operation, inst);
  }
  return "";
}

}  // namespace mla::gfx
