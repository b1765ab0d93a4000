#include "hip_backend/gfx_emulator/run/scheduler.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "hip_backend/gfx_emulator/check/checker.hpp"
#include "hip_backend/gfx_emulator/check/coherence.hpp"
#include "hip_backend/gfx_emulator/check/global_races.hpp"
#include "hip_backend/gfx_emulator/check/lane_watch.hpp"
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/recorder.hpp"
#include "hip_backend/gfx_emulator/exec/scalar_relative.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"
#include "hip_backend/gfx_emulator/run/instruction_limit.hpp"
#include "hip_backend/gfx_emulator/run/interrupt.hpp"
#include "hip_backend/gfx_emulator/run/late_memory.hpp"
#include "hip_backend/gfx_emulator/run/patience.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Where registers_exist() refuses every width.
constexpr std::uint16_t past_the_last_register = 1024;

// The gpr index mode adds M0[7:0] to the vector operands that its bits name. What leaves the file
// of its registers becomes an operand that does not exist.
Inst indexed(const Wave& w, const Inst& inst) {
  Inst out = inst;
  const auto by = static_cast<std::uint16_t>(w.s[code::m0] & 0xff);
  const auto move = [&](std::uint16_t& operand) {
    if (operand < code::vgpr || operand == code::none) return;
    const bool leaves = operand < code::agpr && operand + by >= code::agpr;
    operand = static_cast<std::uint16_t>(leaves ? past_the_last_register : operand + by);
  };
  for (unsigned k = 0; k < 3; ++k) {
    if ((w.gpr_index >> k & 1) != 0) move(out.src[k]);
  }
  if ((w.gpr_index >> 3 & 1) != 0) move(out.dst);
  return out;
}

// `inst` with the operands that it has now.
void execute_indexed(Wave& w, const Inst& inst) {
  if (registers_exist(inst)) return inst.run(w, inst);
  report_fault(w, inst, Problem::bad_operand, -1, w.s[code::m0] & 0xff,
               "the gpr index leads past the last register");
  w.state = WaveState::ended;
}

inline void execute(Wave& w, const Inst& inst) {
  if (inst.by_mode) use_float_control(*w.group, w.float_control);
  if (w.gpr_index != 0 && inst.is_vector) return execute_indexed(w, indexed(w, inst));
  inst.run(w, inst);
}

// The first instructions of a wave, which it remembers. Says how many ran.
u64 opening_turn(Wave& w, u64 count) {
  Group& group = *w.group;
  u64 done = 0;
  while (done < count && w.state == WaveState::running && !group.stopped) {
    const Inst& inst = w.code[w.next];
    w.opened[w.executed + done] = w.next++;
    if (w.gpr_index != 0 || is_relative_move(inst)) w.opening_only = false;
    ++done;
    ++group.executed[inst.op];
    execute(w, inst);
  }
  return done;
}

void plain_turn(Wave& w, u64 count) {
  Group& group = *w.group;
  u64 done = 0;
  if (w.executed < Wave::opening)
    done = opening_turn(w, std::min(count, Wave::opening - w.executed));
  if (done < count && w.state == WaveState::running) w.opening_only = false;
  while (done < count && w.state == WaveState::running && !group.stopped) {
    const Inst& inst = w.code[w.next++];
    ++done;
    ++group.executed[inst.op];
    execute(w, inst);
  }
  w.executed += done;
}

void checked_turn(Wave& w, u64 count, const Attached& attached) {
  Group& group = *w.group;
  Checker& checker = *attached.checker;
  LaneWatch* const watch = attached.lanes;
  w.opening_only = false;
  while (count-- != 0 && w.state == WaveState::running && !group.stopped) {
    const Inst& inst = w.code[w.next++];
    ++w.executed;
    ++group.executed[inst.op];
    if (group.recorder != nullptr) group.recorder->before(w);
    const bool relative = is_relative_move(inst);
    if (relative || (w.gpr_index != 0 && inst.is_vector)) {
      const Inst moved = relative ? with_relative_registers(w, inst) : indexed(w, inst);
      checker.before(w, moved);
      if (watch != nullptr) watch->before(w, moved);
      execute(w, inst);
      checker.after(w, moved);
      if (watch != nullptr) watch->after(w, moved);
    } else {
      checker.before(w, inst);
      if (watch != nullptr) watch->before(w, inst);
      execute(w, inst);
      checker.after(w, inst);
      if (watch != nullptr) watch->after(w, inst);
    }
    if (attached.races != nullptr) attached.races->after(w, inst);
    if (attached.coherence != nullptr) attached.coherence->after(w, inst);
    if (group.recorder != nullptr) group.recorder->after(w, inst);
  }
}

// As plain_turn(), and everything is recorded.
void recorded_turn(Wave& w, u64 count) {
  Group& group = *w.group;
  w.opening_only = false;
  while (count-- != 0 && w.state == WaveState::running && !group.stopped) {
    const Inst& inst = w.code[w.next++];
    ++w.executed;
    ++group.executed[inst.op];
    group.recorder->before(w);
    execute(w, inst);
    group.recorder->after(w, inst);
  }
}

// Memory answers later: its instructions are only begun here.
void late_turn(Wave& w, u64 count, LateMemory& late) {
  Group& group = *w.group;
  w.opening_only = false;
  while (count-- != 0 && w.state == WaveState::running && !group.stopped) {
    const Inst& inst = w.code[w.next++];
    ++w.executed;
    ++group.executed[inst.op];
    if (inst.kind == Class::wait) {
      late.wait(w, inst);
    } else if (counts_as_memory(inst.kind)) {
      late.begin(w, inst);
    } else {
      execute(w, inst);
    }
    late.arrive(w);
    if (w.state == WaveState::ended && !group.stopped) late.finish(w);
  }
}

bool too_long(Wave& w, u64 limit) {
  if (limit == 0 || w.executed < limit || w.state != WaveState::running) return false;
  report_limit(w, "the wave has executed " + std::to_string(w.executed) + " instructions");
  return true;
}

class Turns {
 public:
  Turns(Group& group, const Attached& attached)
      : group_(group),
        attached_(attached),
        schedule_(group.launch->request->options.schedule),
        order_(group.waves),
        random_(schedule_.seed + group.id[0] + (u64{group.id[1]} << 20) +
                (u64{group.id[2]} << 40)) {
    if (schedule_.order == Order::reverse) std::reverse(order_.begin(), order_.end());
  }

  // Every wave that runs takes one turn. False: none could.
  bool round() {
    if (schedule_.order == Order::random) std::shuffle(order_.begin(), order_.end(), random_);
    const u64 slice = schedule_.slice == 0 ? std::numeric_limits<u64>::max() : schedule_.slice;
    const u64 limit = group_.launch->request->options.instruction_limit;
    const u64 turn = limit != 0 ? std::min(slice, limit) : slice;
    bool any = false;
    waits_ = false;
    for (Wave* const wave : order_) {
      if (wave->state == WaveState::at_barrier) ++group_.statistics.barrier_stalls;
      if (wave->state != WaveState::running) continue;
      any = true;
      take_turn(*wave, turn);
      if (launches_interrupted() || group_.stopped || group_.launch->ends(group_) ||
          too_long(*wave, limit))
        return false;
    }
    return any;
  }

  // Whether the workgroup was taken to wait for another one in the last round.
  [[nodiscard]] bool waits() const { return waits_; }

 private:
  static constexpr u64 part_of_turn = 65536;

  // In parts, since a turn to the next barrier may never end.
  void take_turn(Wave& wave, u64 count) {
    while (count != 0 && wave.state == WaveState::running && !group_.stopped &&
           !launches_interrupted()) {
      const u64 part = std::min(count, part_of_turn), before = wave.executed;
      execute_some(wave, part);
      count -= part;
      note_progress(wave.executed - before);
      if (attached_.patience == nullptr) continue;
      if (!attached_.patience->ends(group_, wave.executed - before)) continue;
      waits_ = true;  // the other waves have their turns
      return;
    }
  }

  // Not each turn: it looks at a clock.
  void note_progress(u64 executed) {
    LaunchProgress* const progress = group_.launch->progress.get();
    if (progress == nullptr) return;
    not_noted_ += executed;
    if (not_noted_ < part_of_turn) return;
    progress->add(std::exchange(not_noted_, 0), 0);
  }

  void execute_some(Wave& wave, u64 count) {
    if (attached_.late != nullptr) {
      late_turn(wave, count, *attached_.late);
    } else if (attached_.checker != nullptr) {
      checked_turn(wave, count, attached_);
    } else if (group_.recorder != nullptr) {
      recorded_turn(wave, count);
    } else {
      plain_turn(wave, count);
    }
  }

  Group& group_;
  const Attached& attached_;
  const Schedule& schedule_;
  std::vector<Wave*> order_;
  std::mt19937_64 random_;
  u64 not_noted_ = 0;  // instructions
  bool waits_ = false;
};

// Of the waves at a barrier: those of another instruction than the first's. The compiler may have
// made several instructions of one barrier of the source, which is then the same line.
void compare_barriers(Group& group) {
  const Wave* first = nullptr;
  for (Wave* const wave : group.waves) {
    if (wave->state != WaveState::at_barrier) continue;
    if (first == nullptr) first = wave;
    const Inst& here = wave->code[wave->next - 1];
    const Inst& there = first->code[first->next - 1];
    if (here.at == there.at) continue;
    const CodeObject& object = *group.launch->object;
    const auto line = object.source(here.at), other = object.source(there.at);
    if (line && other && line->full_text() == other->full_text()) continue;
    report_finding(*wave, here,
                   {.problem = Problem::divergent_barrier,
                    .text = "the waves of the workgroup wait at different barriers",
                    .cause = cause_at(*first, group.id, first->number, there.at)});
  }
}

// Opens the barrier when every wave that is left stands there. Waves that ended without it while
// others wait have diverged; the hardware lets the others pass, and so does this.
bool open_barrier(Group& group, const Attached& attached) {
  Wave* waiting = nullptr;
  bool ended = false;
  for (Wave* const wave : group.waves) {
    if (wave->state == WaveState::at_barrier) waiting = wave;
    ended = ended || wave->state == WaveState::ended;
  }
  if (waiting == nullptr) return false;
  if (ended && group.launch->request->options.checks.barriers) {
    report_finding(*waiting, waiting->code[waiting->next - 1],
                   {.problem = Problem::divergent_barrier,
                    .text = "a wave of the workgroup has ended without this barrier",
                    .note = group.launch->request->options.checks.barrier_notes});
  }
  if (group.launch->request->options.checks.same_barrier) compare_barriers(group);
  for (Wave* const wave : group.waves) {
    if (wave->state == WaveState::at_barrier) wave->state = WaveState::running;
  }
  if (attached.checker != nullptr) attached.checker->barrier_passed();
  if (attached.races != nullptr) attached.races->barrier_passed();
  if (attached.coherence != nullptr) attached.coherence->barrier_passed();
  if (group.recorder != nullptr) group.recorder->barrier_passed();
  return true;
}

}  // namespace

void report_limit(Wave& w, const std::string& why) {
  report_fault(w, w.code[w.next], Problem::instruction_limit, -1, 0,
               why + ", which is the limit; " + limit_variable +
                   "=N in the environment changes it, 0 takes it away");
  w.group->stopped = true;
}

Turned run_workgroup(Group& group, const Attached& attached) {
  for (Wave* const wave : group.waves) {
    if (wave->next != CodeObject::npos) continue;
    Inst none;
    none.at = static_cast<u32>(group.launch->kernel->entry);
    report_fault(*wave, none, Problem::bad_jump, -1, 0, "the kernel's entry is no instruction");
    return {};
  }
  group.float_control = HostFloat::current();
  Turns turns(group, attached);
  Patience* const patience = attached.patience;
  if (patience != nullptr) patience->start(group);
  while (!group.stopped && !launches_interrupted() && !group.launch->ends(group)) {
    const bool any = turns.round();
    if (any && turns.waits())
      return {.ending = Ending::waits, .executed = patience->executed(), .idle = patience->idle()};
    if (any) continue;
    if (launches_interrupted() || group.stopped || !open_barrier(group, attached)) break;
  }
  const auto goes_on = [](const Wave* wave) { return wave->state != WaveState::ended; };
  if (launches_interrupted() && !group.stopped &&
      std::any_of(group.waves.begin(), group.waves.end(), goes_on))
    report_interrupt(group);
  return {};
}

}  // namespace mla::gfx
