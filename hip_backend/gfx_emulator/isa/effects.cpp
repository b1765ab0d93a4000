#include "hip_backend/gfx_emulator/isa/effects.hpp"

#include <algorithm>

#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

constexpr unsigned scalars = 128, vectors = 512;

void add_registers(Effects& effects, unsigned operand, unsigned width) {
  if (operand == code::none || width == 0) return;
  if (operand < code::vgpr) {
    for (unsigned k = operand; k < std::min(operand + width, scalars); ++k) {
      effects.scalars[k / 64] |= std::uint64_t{1} << k % 64;
    }
    return;
  }
  const unsigned first = operand - code::vgpr, end = std::min(first + width, vectors);
  if (first >= end) return;
  effects.vectors[effects.spans++] = {static_cast<std::uint16_t>(first),
                                      static_cast<std::uint16_t>(end - first)};
}

}  // namespace

Effects effects_of(const Inst& inst) {
  Effects effects;
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    if (inst.src[k] == code::none) continue;
    const auto [skip, used] = used_part(inst, k);
    if (inst.src[k] < code::vgpr) {
      add_registers(effects, inst.src[k], skip + used);
    } else {
      add_registers(effects, inst.src[k] + skip, used);
    }
  }
  add_registers(effects, inst.dst, inst.width[0]);
  // A copy or a bitwise operation takes its sources in the widths of the table.
  for (unsigned k = 0; k < 2; ++k) {
    if (inst.src[k] < code::vgpr) add_registers(effects, inst.src[k], inst.width[k + 1]);
  }
  if (inst.sdst < code::vgpr) add_registers(effects, inst.sdst, 2);
  add_registers(effects, code::vcc, 2);
  add_registers(effects, code::exec, 2);
  effects.known = true;
  return effects;
}

const Effects& EffectsTable::add(std::size_t index, const Inst& inst) {
  const std::size_t page = index / page_size;
  if (page >= pages_.size()) pages_.resize(page + 1);
  if (pages_[page] == nullptr) pages_[page] = std::make_unique<std::array<Effects, page_size>>();
  return (*pages_[page])[index % page_size] = effects_of(inst);
}

}  // namespace mla::gfx
