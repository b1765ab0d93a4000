// Owns: the walk over all paths of a kernel that the static checks share.
//
// A check keeps a State at the begin of each block: what may be open on some path that leads there.
// The walk enters blocks until no state changes any more, then looks at every instruction once.
// Jumps to an address in a register end a path. A function that is called begins, and goes on after
// the call, with an empty state; a call whose target is in the instruction passes its state on. A
// kernel with calls has all functions of the object looked at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "hip_backend/gfx_emulator/object/code_object.hpp"

namespace mla::gfx {

struct PathCounts {
  std::uint64_t indirect_jumps = 0;   // where a path ends
  std::uint64_t calls = 0;            // after which nothing is open
  std::uint64_t ends_in_no_code = 0;  // paths that run into what is no instruction
};

// State: a value with `bool join(const State&)`, which adds the paths of another one and says
// whether that changed anything.
template <class State>
class Paths {
 public:
  virtual ~Paths() = default;

 protected:
  using u32 = std::uint32_t;
  explicit Paths(const CodeObject& object) : object_(object) {}

  void follow(const Kernel& kernel) {
    const u32 first = object_.index_at(kernel.entry + (kernel.preload_length != 0 ? 256 : 0));
    if (first == CodeObject::npos) {
      ++counts_.ends_in_no_code;
      return;
    }
    mark_leaders(first);
    enter(first, {});
    if (counts_.calls != 0) enter_functions();
    while (!work_.empty()) {
      const u32 block = work_.back();
      work_.pop_back();
      queued_[block] = false;
      walk(block, false);
    }
    for (const auto& [block, state] : in_) walk(block, true);
  }

  // The state after an instruction that goes on to the next.
  virtual void step(State& state, u32 index) = 0;
  // The instruction against what may be open before it.
  virtual void look(const State& state, u32 index) = 0;

  [[nodiscard]] const Inst& at(u32 index) const { return object_.instructions()[index]; }
  [[nodiscard]] const Operation& operation(u32 index) const {
    return object_.operations().at(at(index).op);
  }
  [[nodiscard]] const CodeObject& object() const { return object_; }
  [[nodiscard]] const PathCounts& counts() const { return counts_; }

 private:
  // Where control goes after an instruction that ends a block.
  struct Exits {
    std::optional<u32> next = {}, target = {};
    bool ends = false;      // nothing more happens here
    bool indirect = false;  // to an address in a register
    bool call = false;
  };
  [[nodiscard]] std::optional<Exits> exits(u32 index) const {
    const Inst& inst = at(index);
    if (inst.words == 0) return Exits{.ends = true};
    const auto target = static_cast<u32>(inst.imm);
    switch (operation(index).traits.flow) {
      case Flow::next:
        return std::nullopt;
      case Flow::branch:
        return Exits{.next = index + 1, .target = target};
      case Flow::jump:
        return Exits{.target = target};
      case Flow::call:
        return Exits{.next = index + 1, .target = target, .call = true};
      case Flow::jump_to_register:
        return Exits{.indirect = true};
      case Flow::call_to_register:
        return Exits{.next = index + 1, .call = true};
      case Flow::end:
        break;
    }
    return Exits{.ends = true};
  }

  // Which function a call to an address in a register leads to is not known: any but a kernel.
  void enter_functions() {
    for (const Symbol& symbol : object_.symbols()) {
      const auto is_kernel = [&](const Kernel& kernel) { return kernel.name == symbol.name; };
      if (!symbol.function || std::ranges::any_of(object_.kernels(), is_kernel)) continue;
      const u32 first = object_.index_at(symbol.offset);
      if (first == CodeObject::npos) continue;
      mark_leaders(first);
      enter(first, {});
    }
  }

  // Every instruction that a path can reach, and where blocks begin.
  void mark_leaders(u32 first) {
    const std::size_t count = object_.instructions().size();
    reached_.resize(count), leader_.resize(count), queued_.resize(count);
    std::vector<u32> open = {first};
    leader_[first] = true;
    while (!open.empty()) {
      u32 index = open.back();
      open.pop_back();
      while (index < count && !reached_[index]) {
        reached_[index] = true;
        const auto out = exits(index);
        if (!out) {
          ++index;
          continue;
        }
        counts_.indirect_jumps += out->indirect ? 1 : 0;
        counts_.calls += out->call ? 1 : 0;
        counts_.ends_in_no_code += at(index).words == 0 ? 1 : 0;
        for (const auto& to : {out->next, out->target}) {
          if (!to || *to >= count) continue;
          leader_[*to] = true;
          open.push_back(*to);
        }
        break;
      }
    }
  }

  void enter(u32 block, const State& state) {
    if (block >= object_.instructions().size()) return;
    const auto [found, fresh] = in_.try_emplace(block, state);
    if (!fresh && !found->second.join(state)) return;
    if (queued_[block]) return;
    queued_[block] = true;
    work_.push_back(block);
  }

  // One block: to its exits, or with `report` for what is missing in it.
  void walk(u32 block, bool report) {
    State state = in_.at(block);
    for (u32 index = block;; ++index) {
      if (index >= object_.instructions().size()) return;
      if (index != block && leader_[index]) return report ? void() : enter(index, state);
      if (report) look(state, index);
      const auto out = exits(index);
      if (!out) {
        step(state, index);
        continue;
      }
      if (report) return;
      step(state, index);
      if (out->target) enter(*out->target, state);
      if (out->call) state = {};
      if (out->next) enter(*out->next, state);
      return;
    }
  }

  const CodeObject& object_;
  PathCounts counts_;
  std::vector<bool> reached_, leader_, queued_;  // by instruction
  std::map<u32, State> in_;                      // by the first instruction of a block
  std::vector<u32> work_;
};

}  // namespace mla::gfx
