#include "hip_backend/gfx_emulator/isa/format.hpp"

#include <array>

#include "core/text.hpp"
#include "hip_backend/gfx_emulator/isa/modifiers.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

std::string range(const std::string& file, unsigned first, unsigned width) {
  if (width <= 1) return file + std::to_string(first);
  return file + "[" + std::to_string(first) + ":" + std::to_string(first + width - 1) + "]";
}

// The scalar registers with names of their own come in pairs.
std::string scalar_register(unsigned operand, unsigned width) {
  if (operand >= 108 && operand < 124) return range("ttmp", operand - 108, width);
  if (operand == code::m0) return "m0";
  if (operand == 125) return "null";
  for (const auto& [first, name] :
       {std::pair{102U, "flat_scratch"}, {104U, "xnack_mask"}, {106U, "vcc"}, {126U, "exec"}}) {
    if (operand != first && operand != first + 1) continue;
    if (width == 2) return name;
    return name + std::string(operand == first ? "_lo" : "_hi");
  }
  return range("s", operand, width);
}

std::string constant(const Inst& inst, unsigned operand, unsigned width) {
  static constexpr std::array floats = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
  static constexpr std::array specials = {"src_shared_base", "src_shared_limit", "src_private_base",
                                          "src_private_limit"};
  if (operand <= 192) return std::to_string(operand - 128);
  if (operand <= 208) return std::to_string(192 - static_cast<int>(operand));
  if (operand >= code::shared_base && operand <= code::private_limit) {
    return specials[operand - code::shared_base];
  }
  if (operand >= 240 && operand < 248) return floats[operand - 240];
  switch (operand) {
    case 248:
      return width == 2 && inst.kind != Class::packed ? "0.15915494309189532" : "0.15915494";
    case code::literal:
      return hex(inst.literal);
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

// Operations on 16-bit integers take the number as its f16: a pattern of bits.
std::string as_half(unsigned operand) {
  static constexpr std::array<unsigned, 9> halves = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                                     0xc000, 0x4400, 0xc400, 0x3118};
  return hex(halves[operand - 240]);
}

// The last type in the name is that of the sources.
bool takes_halves(const Operation& operation) {
  const std::string& name = operation.name;
  if (operation.kind == Class::packed || name.starts_with("v_sad")) return false;
  return name.ends_with("i16") || name.ends_with("u16") || name.ends_with("b16");
}

// A source with its sign: -v1, |v1|, sext(v1). A number takes its sign in words.
std::string source_text(const Operation& operation, const Inst& inst, unsigned k) {
  const std::uint16_t operand = inst.src[k];
  const bool real = operand >= 240 && operand <= 248;
  const bool half = inst.is_vector && real && takes_halves(operation);
  std::string text = half ? as_half(operand) : operand_text(inst, operand, source_width(inst, k));
  if (!has_signs(operation, inst)) return text;
  const bool number = real || (operand >= 128 && operand <= 208);
  if ((k == 0 && inst.sext0) || (k == 1 && inst.sext1)) return "sext(" + text + ")";
  if ((inst.abs >> k & 1) != 0) text = "|" + text + "|";
  if ((inst.neg >> k & 1) == 0) return text;
  return number && text[0] != '|' ? "neg(" + text + ")" : "-" + text;
}

class Operands {
 public:
  Operands(const Operation& operation, const Inst& inst) : operation_(operation), inst_(inst) {}

  void text(const std::string& operand) { out_ += (out_.empty() ? " " : ", ") + operand; }
  void destination() {
    if (inst_.dst != code::none) text(operand_text(inst_, inst_.dst, inst_.width[0]));
  }
  void source(unsigned k) {
    if (inst_.src[k] != code::none) text(source_text(operation_, inst_, k));
  }
  // Where nothing stands, the place is kept.
  void source_or_off(unsigned k) {
    text(inst_.src[k] == code::none ? "off" : source_text(operation_, inst_, k));
  }
  std::string take() { return std::move(out_); }

 private:
  const Operation& operation_;
  const Inst& inst_;
  std::string out_;
};

void memory(const Inst& inst, Operands& out) {
  if (inst.kind == Class::buffer) {
    // What an atomic returns takes the place of its data, which may be wider.
    inst.src[1] == code::none ? out.destination() : out.source(1);
    out.source_or_off(0);
    return out.source(2), out.source(3);
  }
  out.destination();
  out.source_or_off(0);
  out.source(1);
  if (inst.kind != Class::flat) out.source_or_off(2);
}

void scalar_memory(const Inst& inst, Operands& out) {
  out.destination();
  out.source(0);
  out.source(1);
  if (inst.src[0] != code::none && inst.src[1] == code::none) out.text(offset_text(inst.imm));
}

void others(const Operation& operation, const Inst& inst, Operands& out) {
  if (!symbol_first(operation)) out.destination();
  if (inst.kind != Class::mfma && inst.sdst != code::none) {
    out.text(operand_text(inst, inst.sdst, 2));
  }
  const std::string symbol = symbol_of(operation, inst);
  if (!symbol.empty() && symbol_first(operation)) out.text(symbol);
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    if (!is_tied(operation, inst, k)) out.source(k);
  }
  // The scale of B stands where other instructions have a second destination.
  if (inst.kind == Class::mfma && inst.sdst != code::none) {
    out.text(operand_text(inst, inst.sdst, 1));
  }
  if (!symbol.empty() && !symbol_first(operation)) out.text(symbol);
}

}  // namespace

std::string operand_text(const Inst& inst, std::uint16_t operand, unsigned width) {
  if (operand >= code::agpr) return range("a", operand - 512U, width);
  if (operand >= code::vgpr) return range("v", operand - 256U, width);
  if (operand >= 128) return constant(inst, operand, width);
  return scalar_register(operand, width);
}

std::string disassemble(const Operations& operations, const Inst& inst) {
  if (inst.words == 0) return "(no instruction)";
  const Operation& operation = operations.at(inst.op);
  std::string name = operation.name;
  // With its scales in front a matrix instruction has four words, and a name of its own.
  if (inst.words == 4) name.insert(std::string("v_mfma_").size(), "scale_");
  Operands out(operation, inst);
  if (is_vector_memory(inst.kind)) {
    memory(inst, out);
  } else if (inst.kind == Class::smem) {
    scalar_memory(inst, out);
  } else {
    others(operation, inst, out);
  }
  return name + out.take() + modifiers_of(operation, inst);
}

}  // namespace mla::gfx
