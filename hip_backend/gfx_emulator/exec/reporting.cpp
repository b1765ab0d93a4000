#include "hip_backend/gfx_emulator/exec/reporting.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/memory/intended_range.hpp"
#include "hip_backend/gfx_emulator/exec/recorder.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"

namespace mla::gfx {
namespace {

constexpr std::uint64_t null_page = 4096;

bool is_access(Problem problem) {
  return problem == Problem::out_of_bounds || problem == Problem::read_only ||
         problem == Problem::misaligned || problem == Problem::hidden_out_of_bounds ||
         problem == Problem::global_race || problem == Problem::uninitialised_memory ||
         problem == Problem::missing_release || problem == Problem::missing_acquire ||
         problem == Problem::narrow_scope;
}

Event event_of(const Wave& w, const Inst& inst, Problem problem, int lane, std::uint64_t address,
               std::string text) {
  const CodeObject& object = *w.group->launch->object;
  Event event;
  event.problem = problem;
  event.workgroup = w.group->id;
  event.wave = w.number;
  event.lane = lane;
  event.pc = inst.at;
  event.place = object.place(inst.at);
  // Late memory runs an instruction with its operands in other places.
  const std::uint32_t index = w.group->late ? object.index_at(inst.at) : object.npos;
  event.disassembly =
      disassemble(object.operations(), index != object.npos ? object.instructions()[index] : inst);
  event.address = address;
  event.text = std::move(text);
  event.source = object.source(inst.at);
  if (!is_access(problem) || address < null_page) return event;
  if (const Range* const range = intended_range(w, inst, address)) {
    event.range = range->name;
    event.range_offset = static_cast<std::int64_t>(address - range->base);
    event.range_size = range->size;
  }
  return event;
}

// Where one or more waves of a workgroup are.
struct Position {
  std::string where;
  std::vector<std::uint32_t> waves;
  std::uint64_t least, most;  // instructions that they executed
  [[nodiscard]] std::string text() const {
    std::string out = waves.size() == 1 ? "wave" : "waves";
    for (const std::uint32_t wave : waves)
      out += (wave == waves.front() ? " " : ",") + std::to_string(wave);
    out += " had executed " + std::to_string(least);
    if (most != least) out += " to " + std::to_string(most);
    return out + " instructions and " + where;
  }
};

Position position_of(const Wave& w) {
  const CodeObject& object = *w.group->launch->object;
  const bool waits = w.state == WaveState::at_barrier;
  const Inst& inst = w.code[waits ? w.next - 1 : w.next];
  std::string where = say(waits ? "waited at " : "stood at ", object.place(inst.at), " `",
                          disassemble(object.operations(), inst), "`");
  if (const auto source = object.source(inst.at)) where += " (" + source->full_text() + ")";
  return {std::move(where), {w.number}, w.executed, w.executed};
}

// Waves that are at one place together, in the order of the first of each.
std::string positions(const Group& group) {
  std::vector<Position> all;
  for (const Wave* const wave : group.waves) {
    if (wave->state == WaveState::ended) continue;
    Position one = position_of(*wave);
    const auto same = [&](const Position& p) { return p.where == one.where; };
    const auto found = std::find_if(all.begin(), all.end(), same);
    if (found == all.end()) {
      all.push_back(std::move(one));
      continue;
    }
    found->waves.push_back(wave->number);
    found->least = std::min(found->least, wave->executed);
    found->most = std::max(found->most, wave->executed);
  }
  const auto& id = group.id;
  std::string out = say("workgroup (", id[0], ",", id[1], ",", id[2], ") ");
  for (const Position& one : all) out += (&one == all.data() ? "" : ", ") + one.text();
  return out;
}

// Where the next event of a workgroup stands among those of all.
std::vector<Event>::iterator place_for(const Launch& launch, std::vector<Event>& events,
                                       const std::array<std::uint32_t, 3>& id) {
  const auto before = [&](std::int64_t place, const Event& e) {
    return place < launch.place_of(e.workgroup);
  };
  return std::upper_bound(events.begin(), events.end(), launch.place_of(id), before);
}

}  // namespace

void report_fault(Wave& w, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                  std::string text) {
  Launch& launch = *w.group->launch;
  if (w.group->recorder != nullptr) w.group->recorder->found(w, inst, problem);
  Event event = event_of(w, inst, problem, lane, address, std::move(text));
  const std::lock_guard lock(launch.mutex);
  const std::size_t limit = std::max(1U, launch.request->options.fault_limit);
  std::vector<Event>& faults = launch.report.faults;
  faults.insert(place_for(launch, faults, w.group->id), std::move(event));
  if (faults.size() > limit) faults.pop_back();
  if (faults.size() < limit) return;
  const std::int64_t last = launch.place_of(faults.back().workgroup);
  if (last < launch.last_group) launch.last_group = last;
  w.group->stopped = launch.place_of(w.group->id) >= launch.last_group;
}

void report_interrupt(Group& group) {
  Launch& launch = *group.launch;
  std::string at = positions(group);
  const std::lock_guard lock(launch.mutex);
  launch.interrupted.try_emplace(group.id, std::move(at));
  launch.last_group = -1;
}

void report_finding(Wave& w, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                    std::string text) {
  report_finding(w, inst,
                 {.problem = problem, .lane = lane, .address = address, .text = std::move(text)});
}

Cause cause_at(const Wave& w, std::array<std::uint32_t, 3> workgroup, std::uint32_t number,
               std::uint64_t pc) {
  const CodeObject& object = *w.group->launch->object;
  Cause cause{.workgroup = workgroup,
              .wave = number,
              .pc = pc,
              .place = object.place(pc),
              .disassembly = {},
              .source = object.source(pc)};
  const std::uint32_t index = object.index_at(pc);
  if (index != CodeObject::npos) {
    cause.disassembly = disassemble(object.operations(), object.instructions()[index]);
  }
  return cause;
}

void report_finding(Wave& w, const Inst& inst, Finding finding) {
  Launch& launch = *w.group->launch;
  const Problem problem = finding.problem;
  if (w.group->recorder != nullptr) w.group->recorder->found(w, inst, problem);
  const std::lock_guard lock(launch.mutex);
  const Checks& checks = launch.request->options.checks;
  const bool note = finding.note || (problem == Problem::global_race && checks.global_notes);
  auto& findings = note ? launch.report.notes : launch.report.findings;
  // Once for an instruction, and as if the workgroups had run one after the other.
  const auto same = [&](const Event& e) { return e.problem == problem && e.pc == inst.at; };
  const auto known = std::find_if(findings.begin(), findings.end(), same);
  const auto place = place_for(launch, findings, w.group->id);
  const std::size_t limit = launch.request->options.finding_limit;
  const bool replaces = known != findings.end();
  const bool full = !replaces && findings.size() >= limit;
  if (known < place || (full && place == findings.end())) {
    ++launch.report.findings_dropped;
    return;
  }
  Event event = event_of(w, inst, problem, finding.lane, finding.address, std::move(finding.text));
  event.lanes = finding.lanes;
  event.cause = std::move(finding.cause);
  event.fix = std::move(finding.fix);
  const auto at = place - findings.begin();
  if (replaces) findings.erase(known);
  if (full) findings.pop_back();
  if (replaces || full) ++launch.report.findings_dropped;
  findings.insert(findings.begin() + at, std::move(event));
}

}  // namespace mla::gfx
