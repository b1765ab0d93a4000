// Operands of scalar instructions that are no registers.
#include <array>

#include "core/text.hpp"
#include "hip_backend/gfx_emulator/isa/modifiers.hpp"

namespace mla::gfx {
namespace {

// Small numbers are decimal, like the constants of the encodings.
std::string immediate(unsigned value) {
  return value <= 64 ? std::to_string(value) : hex(value);
}

std::string waits(const Inst& inst) {
  const auto [vm, lgkm] = wait_counts(inst);
  const auto exports = static_cast<unsigned>(inst.imm) >> 4 & 7;
  const bool none = vm == WaitCounts::most_vm && lgkm == WaitCounts::most_lgkm && exports == 7;
  std::string out;
  const auto count = [&](const char* name, unsigned value, unsigned most) {
    if (value == most && !none) return;
    out += (out.empty() ? "" : " ") + std::string(name) + "(" + std::to_string(value) + ")";
  };
  count("vmcnt", vm, WaitCounts::most_vm);
  count("expcnt", exports, 7);
  count("lgkmcnt", lgkm, WaitCounts::most_lgkm);
  return out;
}

std::string hardware_register(unsigned bits) {
  static constexpr std::array<const char*, 25> names = {
      nullptr,
      "HW_REG_MODE",
      "HW_REG_STATUS",
      "HW_REG_TRAPSTS",
      "HW_REG_HW_ID",
      "HW_REG_GPR_ALLOC",
      "HW_REG_LDS_ALLOC",
      "HW_REG_IB_STS",
      nullptr,
      nullptr,
      nullptr,
      nullptr,
      nullptr,
      nullptr,
      nullptr,
      "HW_REG_SH_MEM_BASES",
      "HW_REG_TBA_LO",
      "HW_REG_TBA_HI",
      "HW_REG_TMA_LO",
      "HW_REG_TMA_HI",
      "HW_REG_XCC_ID",
      "HW_REG_SQ_PERF_SNAPSHOT_DATA",
      "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
      "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
      "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
  };
  const unsigned id = bits & 63, first = bits >> 6 & 31, count = (bits >> 11 & 31) + 1;
  const bool named = id < names.size() && names[id] != nullptr;
  std::string out = "hwreg(" + (named ? std::string(names[id]) : std::to_string(id));
  if (first != 0 || count != 32) {
    out += ", " + std::to_string(first) + ", " + std::to_string(count);
  }
  return out + ")";
}

std::string index_mode_text(unsigned bits) {
  if (bits > 15) return hex(bits);
  static constexpr std::array names = {"SRC0", "SRC1", "SRC2", "DST"};
  std::string out;
  for (unsigned k = 0; k < names.size(); ++k) {
    if ((bits >> k & 1) != 0) out += (out.empty() ? "" : ",") + std::string(names[k]);
  }
  return "gpr_idx(" + out + ")";
}

bool takes_no_operand(const std::string& name) {
  for (const char* const alone : {"s_barrier", "s_wakeup", "s_icache_inv", "s_set_gpr_idx_off"}) {
    if (name == alone) return true;
  }
  return false;
}

}  // namespace

bool symbol_first(const Operation& operation) {
  return operation.name.starts_with("s_setreg");
}

std::string symbol_of(const Operation& operation, const Inst& inst) {
  const std::string& name = operation.name;
  const auto bits = static_cast<unsigned>(inst.imm) & 0xffff;
  if (name.starts_with("s_set_gpr_idx_") && !name.ends_with("_idx") && !name.ends_with("off")) {
    return index_mode_text(bits);
  }
  if (operation.encoding == Encoding::sopk) {
    const bool with_value = name == "s_setreg_imm32_b32";
    if (with_value) return hardware_register(bits) + ", " + immediate(inst.literal);
    if (name.find("etreg") != std::string::npos) return hardware_register(bits);
    return inst.kind == Class::branch ? std::to_string(inst.imm) : hex(bits);
  }
  if (operation.encoding != Encoding::sopp || takes_no_operand(name)) return "";
  if (inst.kind == Class::wait) return waits(inst);
  if (inst.kind == Class::branch) return std::to_string(inst.imm);
  if (name == "s_endpgm") return bits == 0 ? "" : std::to_string(bits);
  return name.starts_with("s_sendmsg") && bits == 1 ? "sendmsg(MSG_INTERRUPT)" : immediate(bits);
}

}  // namespace mla::gfx
