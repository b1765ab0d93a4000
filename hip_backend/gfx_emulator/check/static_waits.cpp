#include "hip_backend/gfx_emulator/check/static_waits.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;

constexpr unsigned scalars = 128, vectors = 512;
constexpr u8 arrived = 255;

// An operation that may be outstanding on a register.
struct Pending {
  u8 newer = arrived;  // operations of its counter issued since, at least
  u32 by = 0;          // index of the instruction
  bool operator==(const Pending&) const = default;
};
// The operation that needs the strictest wait.
bool join(Pending& into, const Pending& other) {
  if (other.newer >= into.newer) return false;
  into = other;
  return true;
}

// vm and lgkm in their order; flat_* and scalar until their count is 0.
struct State {
  std::array<Pending, vectors> vm, lgkm, flat_vm, flat_lgkm;
  std::array<Pending, scalars> scalar;
  bool indexed = false;  // the gpr index mode may be on
  bool reached = false;

  bool merge(const State& other) {
    bool changed = !reached || (other.indexed && !indexed);
    reached = true;
    indexed = indexed || other.indexed;
    for (unsigned k = 0; k < vectors; ++k) {
      for (auto member : {&State::vm, &State::lgkm, &State::flat_vm, &State::flat_lgkm}) {
        changed = join((this->*member)[k], (other.*member)[k]) || changed;
      }
    }
    for (unsigned k = 0; k < scalars; ++k) changed = join(scalar[k], other.scalar[k]) || changed;
    return changed;
  }
};

template <std::size_t count>
void keep_newer_than(std::array<Pending, count>& registers, unsigned left) {
  for (Pending& p : registers) {
    if (p.newer >= left) p = {};
  }
}

class Walk {
 public:
  Walk(const CodeObject& object, const Kernel& kernel) : object_(object) {
    const u32 entry = object.index_at(kernel.entry + (kernel.preload_length != 0 ? 256 : 0));
    if (entry == CodeObject::npos) return;
    State first;
    reach(entry, first);
    while (!open_.empty()) {
      const u32 begin = *open_.begin();
      open_.erase(open_.begin());
      walk(begin);
    }
  }

  StaticReport report() {
    for (auto& [key, finding] : findings_) report_.findings.push_back(std::move(finding));
    report_.instructions = seen_.size();
    return std::move(report_);
  }

 private:
  void reach(u32 index, const State& state) {
    if (index == CodeObject::npos || index >= object_.instructions().size()) return;
    if (states_[index].merge(state)) open_.insert(index);
  }

  // From a place where paths meet to the next one.
  void walk(u32 index) {
    State state = states_[index];
    while (index < object_.instructions().size()) {
      const Inst& inst = object_.instructions()[index];
      if (inst.words == 0) return;
      seen_.insert(index);
      step(state, inst, index);
      const std::string_view name = object_.operations().at(inst.op).name;
      if (name == "s_endpgm") return;
      if (name == "s_setpc_b64" || name == "s_swappc_b64") {
        report_.jumps_not_followed += jumps_.insert(index).second ? 1 : 0;
        return;
      }
      if (inst.kind == Class::branch) {
        reach(static_cast<u32>(inst.imm), state);
        if (name != "s_branch") reach(index + 1, state);
        return;
      }
      ++index;
      // A loop's head is reached from above too.
      if (states_.contains(index)) return reach(index, state);
    }
  }

  void step(State& state, const Inst& inst, u32 index) {
    const std::string_view name = object_.operations().at(inst.op).name;
    if (name.starts_with("s_set_gpr_idx_")) state.indexed = name != "s_set_gpr_idx_off";
    if (inst.kind == Class::wait) return wait(state, wait_counts(inst));
    if (!(state.indexed && inst.is_vector)) look(state, inst);
    if (counts_as_memory(inst.kind)) issue(state, inst, index);
  }

  static void wait(State& state, const WaitCounts& counts) {
    keep_newer_than(state.vm, counts.vm);
    keep_newer_than(state.lgkm, counts.lgkm);
    if (counts.vm == 0) state.flat_vm.fill({});
    if (counts.lgkm != 0) return;
    state.flat_lgkm.fill({});
    state.scalar.fill({});
  }

  static void issue(State& state, const Inst& inst, u32 index) {
    const bool flat = inst.kind == Class::flat, scalar = inst.kind == Class::smem;
    if (!flat && !scalar) {
      const bool lds = inst.kind == Class::lds;
      for (Pending& p : lds ? state.lgkm : state.vm) p.newer += p.newer != arrived ? 1 : 0;
      keep_newer_than(lds ? state.lgkm : state.vm,
                      lds ? WaitCounts::most_lgkm : WaitCounts::most_vm);
    }
    if (inst.dst == code::none) return;
    const unsigned first = scalar ? inst.dst : inst.dst - code::vgpr;
    for (unsigned k = first; k < std::min(first + inst.width[0], scalar ? scalars : vectors); ++k) {
      const Pending pending{.newer = 0, .by = index};
      if (scalar) state.scalar[k] = pending;
      if (flat) state.flat_vm[k] = state.flat_lgkm[k] = pending;
      if (inst.kind == Class::lds) state.lgkm[k] = pending;
      if (is_vector_memory(inst.kind) && !flat) state.vm[k] = pending;
    }
  }

  void look(const State& state, const Inst& inst) {
    for (unsigned k = 0; k < inst.src.size(); ++k) {
      if (inst.src[k] == code::none) continue;
      const UsedPart part = used_part(inst, k);
      use(state, inst, inst.src[k] + part.skip, part.width, " is read", Class::other);
    }
    if (inst.dst != code::none) {
      use(state, inst, inst.dst, inst.width[0], " is overwritten", inst.kind);
    }
  }

  void use(const State& state, const Inst& inst, unsigned operand, unsigned width, const char* how,
           Class spared) {
    const bool vector = operand >= code::vgpr;
    if (!vector && operand >= scalars) return;
    const unsigned first = vector ? operand - code::vgpr : operand;
    for (unsigned k = first; k < std::min(first + width, vector ? vectors : scalars); ++k) {
      const auto found = vector ? on_vector(state, k, spared) : on_scalar(state, k);
      if (!found) continue;
      const auto key = std::pair(inst.at, operand);
      findings_.try_emplace(
          key,
          StaticFinding{.at = inst.at,
                        .other_at = object_.instructions()[found->by].at,
                        .text = operand_text(inst, static_cast<std::uint16_t>(operand), width) +
                                how + " while a load of it may be outstanding",
                        .fix = found->fix});
      return;
    }
  }

  struct Found {
    u32 by;
    std::string fix;
  };
  // Loads of one kind come back in order: a later one may take over the register.
  static std::optional<Found> on_vector(const State& state, unsigned k, Class spared) {
    const bool memory = is_vector_memory(spared) && spared != Class::flat;
    if (const Pending& p = state.vm[k]; p.newer != arrived && !memory) {
      return Found{p.by, "s_waitcnt vmcnt(" + std::to_string(p.newer) + ")"};
    }
    if (const Pending& p = state.lgkm[k]; p.newer != arrived && spared != Class::lds) {
      return Found{p.by, "s_waitcnt lgkmcnt(" + std::to_string(p.newer) + ")"};
    }
    for (const Pending& p : {state.flat_vm[k], state.flat_lgkm[k]}) {
      if (p.newer != arrived) return Found{p.by, "s_waitcnt vmcnt(0) lgkmcnt(0)"};
    }
    return std::nullopt;
  }
  static std::optional<Found> on_scalar(const State& state, unsigned k) {
    if (state.scalar[k].newer == arrived) return std::nullopt;
    return Found{state.scalar[k].by, "s_waitcnt lgkmcnt(0)"};
  }

  const CodeObject& object_;
  std::map<u32, State> states_;  // where paths begin or meet
  std::set<u32> open_, seen_, jumps_;
  std::map<std::pair<u32, unsigned>, StaticFinding> findings_;
  StaticReport report_;
};

}  // namespace

StaticReport check_waits(const CodeObject& object, const Kernel& kernel) {
  return Walk(object, kernel).report();
}

}  // namespace mla::gfx
