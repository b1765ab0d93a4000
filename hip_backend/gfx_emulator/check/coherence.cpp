#include "hip_backend/gfx_emulator/check/coherence.hpp"

#include <algorithm>
#include <utility>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/memory/resolve.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

std::string group_text(const std::array<u32, 3>& id) {
  return say("workgroup (", id[0], ",", id[1], ",", id[2], ")");
}

}  // namespace

Coherence::Coherence(const Operations& operations)
    : write_back_(operations.named("buffer_wbl2")), invalidate_(operations.named("buffer_inv")) {}

void Coherence::start_group(const Group& group) {
  hand_overs_.start_group(group.id);
  stores_ = {};
  waves_.assign(group.waves.size(), {});
  storing_ = 0;
  readings_ = 0;
}

void Coherence::end_group() {
  std::vector<const Mistake*> left;
  for (const auto& [address, guess] : guesses_) left.push_back(&guess);
  std::sort(left.begin(), left.end(), [](const Mistake* a, const Mistake* b) {
    return a->access.address < b->access.address;
  });
  for (const Mistake* const mistake : left) report(*mistake);
  guesses_.clear();
}

void Coherence::barrier_passed() {
  for (WaveInfo& info : waves_) info.at_barrier = info.stored;
}

void Coherence::global_access(Wave& w, const Inst& inst, const u64* at, u64 mask, u32 size,
                              Intent intent) {
  if (intent != Intent::read && storing_ == 0) storing_ = ++waves_[w.number].stored;
  const Scope scope = scope_of(inst, intent);
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    if (inst.kind == Class::flat && !allowed(w, at[l], size, Intent::read)) continue;
    for (u64 begin = at[l], end = at[l] + size; begin < end;) {
      const u64 dword = begin & ~u64{3}, next = std::min(end, dword + 4);
      const auto bytes =
          static_cast<std::uint8_t>((1U << (next - dword)) - (1U << (begin - dword)));
      visit(w, inst,
            {.address = dword,
             .bytes = bytes,
             .lane = inst.kind == Class::smem ? -1 : static_cast<int>(l),
             .intent = intent,
             .scope = scope});
      begin = next;
    }
  }
}

void Coherence::visit(Wave& w, const Inst& inst, const Access& access) {
  Cell& cell = cells_.at(access.address);
  const u32 self = hand_overs_.running();
  const bool others = cell.party != 0 && cell.party != self && (cell.bytes & access.bytes) != 0;
  if (others) judge(w, inst, access, cell);
  if (access.intent == Intent::update) guesses_.erase(access.address);
  const HandOvers::Instruction by{.at = inst.at, .wave = w.number};
  if (access.scope != Scope::none) {
    if (access.intent != Intent::write) hand_overs_.learn(access.address, by);
    if (access.intent != Intent::read) hand_overs_.publish(access.address, by, stores_);
  }
  if (access.intent == Intent::read) return;
  const bool same = cell.party == self && cell.serial == storing_ && cell.wave == w.number;
  cell = {.party = self,
          .serial = storing_,
          .at = inst.at,
          .wave = static_cast<std::uint8_t>(w.number),
          .bytes = static_cast<std::uint8_t>(access.bytes | (same ? cell.bytes : 0)),
          .scope = access.scope};
}

bool Coherence::released(const Cell& cell, HandOvers::Time time) const {
  const HandOvers::Stores& stores = hand_overs_.stores_at(cell.party, time);
  return cell.serial <= stores.written_back[cell.wave] ||
         (cell.scope == Scope::of_launch && cell.serial <= stores.landed[cell.wave]);
}

void Coherence::judge(Wave& w, const Inst& inst, const Access& access, const Cell& cell) {
  Mistake mistake{.wave = &w, .inst = inst, .access = access, .cell = cell, .known = {}};
  if (access.scope != Scope::none && cell.scope != Scope::none) {
    mistake.problem = Problem::narrow_scope;
    const Scope narrow = std::min(access.scope, cell.scope);
    if (narrow == Scope::of_group && access.intent != Intent::write) report(mistake);
    return;
  }
  if (hand_overs_.is_flag(access.address)) return;
  if (access.intent == Intent::write && cell.scope != Scope::none) return;
  mistake.known = hand_overs_.known(cell.party);
  if (mistake.known.seen == 0) return;  // nothing orders the two
  if (released(cell, mistake.known.seen)) {
    if (access.intent != Intent::read || access.scope == Scope::of_launch) return;
    if (released(cell, mistake.known.acquired)) return;
    mistake.problem = Problem::missing_acquire;
  }
  if (access.intent == Intent::read && cell.scope == Scope::of_launch)
    guesses_.try_emplace(access.address, mistake);
  else
    report(mistake);
}

void Coherence::report(const Mistake& mistake) const {
  const auto& [wave, inst, access, cell, known, problem] = mistake;
  const auto& id = hand_overs_.id(cell.party);
  const Cause writer = cause_at(*wave, id, cell.wave, cell.at);
  const bool arrives = cell.scope == Scope::of_launch;
  Finding finding{.problem = problem, .lane = access.lane, .address = access.address, .text = {}};
  finding.cause = writer;
  if (problem == Problem::missing_release) {
    finding.text = say("the dword was written by ", group_text(id), ", and was not ",
                       arrives ? "waited for" : "written back from its L2 cache",
                       " before the atomic that tells of it, ",
                       cause_at(*wave, id, known.flag.wave, known.flag.at).text());
    finding.fix = arrives ? "s_waitcnt vmcnt(0) before that atomic"
                          : "buffer_wbl2 sc1 and s_waitcnt vmcnt(0) before that atomic (a release "
                            "of the agent)";
  } else if (problem == Problem::missing_acquire) {
    finding.text = say("the dword was written by ", writer.text(),
                       ", and this compute unit may still have its line from before the atomic "
                       "that told of it");
    finding.cause = cause_at(*wave, wave->group->id, known.reader.wave, known.reader.at);
    finding.fix = "buffer_inv sc1 after that atomic has returned (an acquire of the agent)";
  } else {
    finding.text =
        say(access.scope == Scope::of_group ? "this atomic" : "the other atomic",
            " has the scope of its workgroup, and the dword was written by ", group_text(id));
    finding.fix = "sc1 (the scope of the agent)";
  }
  report_finding(*wave, inst, std::move(finding));
}

void Coherence::retire(u32 wave, std::size_t left) {
  auto& outstanding = waves_[wave].outstanding;
  for (; outstanding.size() > left; outstanding.pop_front()) {
    const Operation& done = outstanding.front();
    if (done.store != 0) stores_.landed[wave] = done.store;
    hand_overs_.returned(done.readings_begin, done.readings_begin + done.readings);
    if (!done.writes_back) continue;
    for (std::size_t k = 0; k < done.covers.size(); ++k)
      stores_.written_back[k] = std::max(stores_.written_back[k], done.covers[k]);
  }
}

void Coherence::after(const Wave& w, const Inst& inst) {
  if (inst.kind == Class::wait) return retire(w.number, wait_counts(inst).vm);
  const bool writes_back = static_cast<int>(inst.op) == write_back_;
  if (static_cast<int>(inst.op) == invalidate_ && inst.sc1) hand_overs_.acquire();
  if (!is_vector_memory(inst.kind) && !writes_back) {
    storing_ = 0;
    return;
  }
  Operation operation{.store = storing_,
                      .readings_begin = readings_,
                      .readings = hand_overs_.readings() - readings_};
  storing_ = 0;
  readings_ = hand_overs_.readings();
  if (writes_back && inst.sc1) {
    operation.writes_back = true;
    for (std::size_t k = 0; k < waves_.size(); ++k)
      operation.covers[k] = k == w.number ? waves_[k].stored : waves_[k].at_barrier;
  }
  waves_[w.number].outstanding.push_back(operation);
  retire(w.number, WaitCounts::most_vm);
}

}  // namespace mla::gfx
