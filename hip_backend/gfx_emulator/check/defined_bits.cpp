#include "hip_backend/gfx_emulator/check/defined_bits.hpp"

#include <algorithm>

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"

namespace mla::gfx {
namespace {

using u64 = std::uint64_t;

Bitwise rule_of(const Wave& w, const Inst& inst) {
  return w.group->launch->object->operations().at(inst.op).traits.bitwise;
}

// A value and the bits of it that are undefined.
struct Bits {
  u64 value, undefined;
};
Bits inverse(Bits a) {
  return {~a.value, a.undefined};
}
// Undefined, unless the other side decides: a zero does for `and`, a one for `or`.
Bits both(Bits a, Bits b) {
  return {a.value & b.value,
          (a.undefined & (b.value | b.undefined)) | (b.undefined & (a.value | a.undefined))};
}
Bits either(Bits a, Bits b) {
  return inverse(both(inverse(a), inverse(b)));
}
Bits combine(Bitwise rule, Bits a, Bits b) {
  switch (rule) {
    case Bitwise::both:
      return both(a, b);
    case Bitwise::both_second_inverted:
      return both(a, inverse(b));
    case Bitwise::both_first_inverted:
      return both(inverse(a), b);
    case Bitwise::either:
      return either(a, b);
    case Bitwise::either_second_inverted:
      return either(a, inverse(b));
    case Bitwise::either_first_inverted:
      return either(inverse(a), b);
    case Bitwise::not_both:
      return inverse(both(a, b));
    case Bitwise::neither:
      return inverse(either(a, b));
    case Bitwise::invert:
      return inverse(a);
    case Bitwise::copy:
      return a;
    default:
      return {a.value ^ b.value, a.undefined | b.undefined};
  }
}

// Whether "any bit is one" depends on undefined bits.
bool undecided(Bits x) {
  return x.undefined != 0 && (x.value & ~x.undefined) == 0;
}

}  // namespace

void DefinedBits::define(unsigned first, unsigned width) {
  for (unsigned k = first; k < std::min<unsigned>(first + width, undefined_.size()); ++k) {
    set(k, 0);
  }
}

void DefinedBits::set(unsigned reg, std::uint32_t bits) {
  undefined_[reg] = bits;
  const u64 bit = u64{1} << reg % 64;
  registers_[reg / 64] = bits != 0 ? registers_[reg / 64] | bit : registers_[reg / 64] & ~bit;
}

u64 DefinedBits::undefined(std::uint16_t operand, unsigned width) const {
  if (operand >= undefined_.size()) return 0;
  const bool wide = width > 1 && operand + 1U < undefined_.size();
  return undefined_[operand] | (wide ? u64{undefined_[operand + 1U]} << 32 : 0);
}

bool DefinedBits::follows(const Wave& w, const Inst& inst) {
  return rule_of(w, inst) != Bitwise::none;
}

bool DefinedBits::moves_a_lane(const Wave& w, const Inst& inst) {
  const Bitwise rule = rule_of(w, inst);
  return rule == Bitwise::to_lane || rule == Bitwise::from_lane;
}

bool DefinedBits::in_lanes_of(unsigned vector) const {
  return std::ranges::find(spilled_, vector, &Spilled::vector) != spilled_.end();
}

void DefinedBits::forget_lanes_of(unsigned vector) {
  std::erase_if(spilled_, [vector](const Spilled& s) { return s.vector == vector; });
}

const char* DefinedBits::before_lane(const Wave& w, const Inst& inst, bool to) {
  if (undefined(inst.src[1], 1) != 0) return "the number of the lane";
  const unsigned vector = (to ? inst.dst : inst.src[0]) - 256U;
  const unsigned lane = read_scalar(w, inst, inst.src[1]) & 63;
  const auto found = std::ranges::find_if(
      spilled_, [&](const Spilled& s) { return s.vector == vector && s.lane == lane; });
  if (!to) {
    if (found != spilled_.end()) result_ = found->undefined;
    return nullptr;
  }
  if (found != spilled_.end()) spilled_.erase(found);
  const auto bits = static_cast<std::uint32_t>(undefined(inst.src[0], 1));
  if (bits != 0) spilled_.push_back({vector, lane, bits});
  return nullptr;
}

const char* DefinedBits::before(const Wave& w, const Inst& inst) {
  const Operation& operation = w.group->launch->object->operations().at(inst.op);
  const Bitwise rule = operation.traits.bitwise;
  result_ = 0;
  scc_result_ = scc_undefined_ && !operation.has(traits::scc_out);
  if (inst.kind != Class::salu && inst.kind != Class::branch) {
    const bool to = rule == Bitwise::to_lane;
    return to || rule == Bitwise::from_lane ? before_lane(w, inst, to) : nullptr;
  }
  if (operation.has(traits::vcc_in)) {
    return undecided({w.pair(code::vcc), undefined(code::vcc, 2)}) ? "VCC" : nullptr;
  }
  if (operation.has(traits::scc_in) && scc_undefined_) return "SCC";
  if (rule == Bitwise::none) return nullptr;
  const bool wide = inst.width[1] == 2;
  const auto operand = [&](unsigned k) -> Bits {
    const u64 value =
        wide ? read_scalar64(w, inst, inst.src[k]) : read_scalar(w, inst, inst.src[k]);
    return {value, undefined(inst.src[k], inst.width[k + 1])};
  };
  if (rule == Bitwise::select) {
    result_ = operand(w.scc != 0 ? 0 : 1).undefined;
    return nullptr;
  }
  const Bits exec = {w.exec(), undefined(code::exec, 2)};
  const Bits second = operation.has(traits::with_exec) ? exec
                      : inst.src[1] != code::none      ? operand(1)
                                                       : Bits{0, 0};
  const Bits out = combine(rule, operand(0), second);
  const u64 kept = wide ? ~u64{0} : 0xffffffff;
  if (operation.has(traits::scc_out)) scc_result_ = undecided({out.value & kept, out.undefined});
  if (operation.has(traits::with_exec) || inst.dst == code::exec) {
    return (out.undefined & kept) != 0 ? "EXEC" : nullptr;
  }
  result_ = out.undefined & kept;
  return nullptr;
}

void DefinedBits::after(const Inst& inst) {
  scc_undefined_ = scc_result_;
  if (inst.dst >= undefined_.size()) return;
  define(inst.dst, inst.width[0]);
  set(inst.dst, static_cast<std::uint32_t>(result_));
  if (inst.width[0] > 1 && inst.dst + 1U < undefined_.size()) {
    set(inst.dst + 1U, static_cast<std::uint32_t>(result_ >> 32));
  }
}

}  // namespace mla::gfx
