#include "hip_backend/gfx_emulator/check/static_waits.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "hip_backend/gfx_emulator/check/static_paths.hpp"
#include "hip_backend/gfx_emulator/exec/scalar_relative.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;

// Loads that may be outstanding, by the index of their instruction, with the smallest number of
// younger operations of the counter.
using Loads = std::map<u32, u32>;

struct State {
  Loads vm, lgkm;            // in order
  Loads smem;                // in any order
  Loads flat_vm, flat_lgkm;  // the same operations, by what they wait for
  bool indexed = false;      // the gpr index mode may be on

  // Adds the paths of another state; whether that changed anything.
  bool join(const State& other) {
    bool changed = other.indexed && !indexed;
    indexed = indexed || other.indexed;
    const auto merge = [&](Loads& mine, const Loads& theirs) {
      for (const auto& [load, younger] : theirs) {
        const auto [found, fresh] = mine.try_emplace(load, younger);
        changed = changed || fresh || younger < found->second;
        found->second = std::min(found->second, younger);
      }
    };
    merge(vm, other.vm), merge(lgkm, other.lgkm), merge(smem, other.smem);
    merge(flat_vm, other.flat_vm), merge(flat_lgkm, other.flat_lgkm);
    return changed;
  }
};

void keep_youngest(Loads& loads, u32 left) {
  std::erase_if(loads, [&](const auto& load) { return load.second >= left; });
}

void wait(State& state, WaitCounts counts) {
  keep_youngest(state.vm, counts.vm);
  keep_youngest(state.lgkm, counts.lgkm);
  if (counts.vm == 0) state.flat_vm.clear();
  if (counts.lgkm == 0) state.flat_lgkm.clear(), state.smem.clear();
}

void issue(Loads& queue, u32 index, bool has_result, u32 most) {
  for (auto& [load, younger] : queue) ++younger;
  if (has_result) queue[index] = 0;
  keep_youngest(queue, most);
}

// The state after an instruction that goes on to the next.
void after(State& state, const Inst& inst, u32 index, const Operation& operation) {
  const bool result = inst.dst != code::none;
  if (inst.kind == Class::wait) return wait(state, wait_counts(inst));
  if (inst.kind == Class::smem) {
    if (result) state.smem[index] = 0;
  } else if (inst.kind == Class::lds) {
    issue(state.lgkm, index, result, WaitCounts::most_lgkm);
  } else if (inst.kind == Class::flat) {
    if (result) state.flat_vm[index] = state.flat_lgkm[index] = 0;
  } else if (is_vector_memory(inst.kind)) {
    issue(state.vm, index, result, WaitCounts::most_vm);
  } else if (operation.has(traits::index_on)) {
    state.indexed = true;
  } else if (operation.has(traits::index_off)) {
    state.indexed = false;
  } else if (operation.has(traits::index_mode)) {
    state.indexed = inst.imm != 0;
  }
}

bool overlap(unsigned a, unsigned a_width, unsigned b, unsigned b_width) {
  return a < b + b_width && b < a + a_width;
}

class Search final : public Paths<State> {
 public:
  Search(const CodeObject& object, const Kernel& kernel) : Paths(object) {
    follow(kernel);
    report_.indirect_jumps = counts().indirect_jumps;
    report_.calls = counts().calls;
    report_.ends_in_no_code = counts().ends_in_no_code;
    for (auto& [key, missing] : found_) report_.missing.push_back(std::move(missing));
  }
  StaticReport take() { return std::move(report_); }

 private:
  void step(State& state, u32 index) override { after(state, at(index), index, operation(index)); }

  // The instruction against all that is outstanding before it.
  void look(const State& state, u32 index) override {
    const Inst& inst = at(index);
    ++report_.instructions;
    if ((state.indexed && inst.is_vector) || is_relative_move(inst)) {
      ++report_.indexed;
      return;
    }
    if (inst.kind == Class::wait) return;
    for (unsigned k = 0; k < inst.src.size(); ++k) {
      if (inst.src[k] == code::none) continue;
      const auto [skip, used] = used_part(inst, k);
      look_at(state, index, inst.src[k] + skip, used, false);
    }
    if (inst.dst != code::none) look_at(state, index, inst.dst, inst.width[0], true);
  }

  void look_at(const State& state, u32 index, unsigned operand, unsigned width, bool write) {
    if (width == 0 || (operand >= 128 && operand < code::vgpr)) return;
    const Inst& inst = at(index);
    const auto each = [&](const Loads& loads, const char* counter, const auto& wait_for) {
      for (const auto& [load, younger] : loads) {
        if (!overlap(operand, width, at(load).dst, at(load).width[0])) continue;
        note(index, load, operand, width, write, counter, wait_for(younger));
      }
    };
    // Loads of one kind come back in order: a later one may take over the register.
    const bool from_memory = is_vector_memory(inst.kind) && inst.kind != Class::flat;
    if (!write || !from_memory) {
      each(state.vm, "vmcnt",
           [](u32 younger) { return "s_waitcnt vmcnt(" + std::to_string(younger) + ")"; });
    }
    if (!write || inst.kind != Class::lds) {
      each(state.lgkm, "lgkmcnt",
           [](u32 younger) { return "s_waitcnt lgkmcnt(" + std::to_string(younger) + ")"; });
    }
    each(state.smem, "lgkmcnt", [](u32) { return std::string("s_waitcnt lgkmcnt(0)"); });
    for (const Loads* const flat : {&state.flat_vm, &state.flat_lgkm}) {
      each(*flat, "vmcnt and lgkmcnt",
           [](u32) { return std::string("s_waitcnt vmcnt(0) lgkmcnt(0)"); });
    }
  }

  void note(u32 index, u32 load, unsigned operand, unsigned width, bool write, const char* counter,
            std::string wait) {
    MissingWait& found = found_[{index, load}];
    if (!found.wait.empty()) return;  // the operand before
    found = {.use = at(index).at,
             .load = at(load).at,
             .registers = operand_text(at(index), static_cast<std::uint16_t>(operand), width),
             .overwritten = write,
             .counter = counter,
             .wait = std::move(wait)};
  }

  StaticReport report_;
  std::map<std::pair<u32, u32>, MissingWait> found_;  // by use and load
};

}  // namespace

StaticReport check_waits(const CodeObject& object, const Kernel& kernel) {
  return Search(object, kernel).take();
}

}  // namespace mla::gfx
