#include "hip_backend/gfx_emulator/isa/format.hpp"

#include <array>

#include "core/text.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

std::string range(char file, unsigned first, unsigned width) {
  if (width <= 1) return file + std::to_string(first);
  return std::string(1, file) + "[" + std::to_string(first) + ":" +
         std::to_string(first + width - 1) + "]";
}

std::string scalar_register(unsigned operand, unsigned width) {
  switch (operand) {
    case 102:
      return width == 2 ? "flat_scratch" : "flat_scratch_lo";
    case 103:
      return "flat_scratch_hi";
    case 106:
      return width == 2 ? "vcc" : "vcc_lo";
    case 107:
      return "vcc_hi";
    case 124:
      return "m0";
    case 126:
      return width == 2 ? "exec" : "exec_lo";
    case 127:
      return "exec_hi";
    default:
      return range('s', operand, width);
  }
}

std::string constant(const Inst& inst, unsigned operand) {
  static constexpr std::array floats = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                        "-2.0", "4.0",  "-4.0", "0.15915494"};
  if (operand <= 192) return std::to_string(operand - 128);
  if (operand <= 208) return std::to_string(192 - static_cast<int>(operand));
  if (operand >= 240 && operand <= 248) return floats[operand - 240];
  switch (operand) {
    case code::literal:
      return hex(inst.literal);
    case code::shared_base:
      return "src_shared_base";
    case code::private_base:
      return "src_private_base";
    case code::vccz:
      return "src_vccz";
    case code::execz:
      return "src_execz";
    case code::scc:
      return "src_scc";
    default:
      return "src_" + std::to_string(operand);
  }
}

void waits(const Inst& inst, std::string& out) {
  const auto [vm, lgkm] = wait_counts(inst);
  if (vm != WaitCounts::most_vm) out += " vmcnt(" + std::to_string(vm) + ")";
  if (lgkm != WaitCounts::most_lgkm) out += " lgkmcnt(" + std::to_string(lgkm) + ")";
}

void modifiers(const Inst& inst, std::string& out) {
  const bool memory = inst.kind == Class::lds || is_vector_memory(inst.kind);
  if (inst.offen) out += " offen";
  if (inst.idxen) out += " idxen";
  if (memory && inst.imm != 0) out += " offset:" + std::to_string(inst.imm);
  if (inst.offset1 != 0) out += " offset1:" + std::to_string(inst.offset1);
  if (inst.lds) out += " lds";
  if (inst.clamp) out += " clamp";
  if (inst.op_sel != 0) out += " op_sel:" + hex(inst.op_sel);
  if (inst.sdwa) out += " sdwa";
  if (inst.dpp) out += " dpp:" + hex(inst.dpp_ctrl);
}

}  // namespace

std::string operand_text(const Inst& inst, std::uint16_t operand, unsigned width) {
  if (operand >= code::agpr) return range('a', operand - 512U, width);
  if (operand >= code::vgpr) return range('v', operand - 256U, width);
  if (operand >= 128) return constant(inst, operand);
  return scalar_register(operand, width);
}

std::string disassemble(const Operations& operations, const Inst& inst) {
  if (inst.words == 0) return "(no instruction)";
  const Operation& operation = operations.at(inst.op);
  std::string out = operation.name;
  if (inst.kind == Class::wait) return waits(inst, out), out;
  const char* separator = " ";
  const auto add = [&](std::uint16_t operand, unsigned width, const char* sign) {
    if (operand == code::none) return;
    out += separator;
    out += sign + operand_text(inst, operand, width);
    separator = ", ";
  };
  add(inst.dst, inst.width[0], "");
  if (inst.kind != Class::mfma) add(inst.sdst, 2, "");
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    const bool negative = inst.is_vector && (inst.neg >> k & 1) != 0;
    add(inst.src[k], source_width(inst, k), negative ? "-" : "");
  }
  if (operation.encoding == Encoding::sopk || operation.encoding == Encoding::sopp ||
      inst.kind == Class::smem) {
    if (inst.kind != Class::barrier) out += separator + hex(static_cast<std::uint32_t>(inst.imm));
  }
  modifiers(inst, out);
  return out;
}

}  // namespace mla::gfx
