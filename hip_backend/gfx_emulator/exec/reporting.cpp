#include "hip_backend/gfx_emulator/exec/reporting.hpp"

#include <algorithm>
#include <utility>

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
         problem == Problem::global_race;
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

}  // namespace

void report_fault(Wave& w, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                  std::string text) {
  Launch& launch = *w.group->launch;
  if (w.group->recorder != nullptr) w.group->recorder->found(w, inst, problem);
  Event event = event_of(w, inst, problem, lane, address, std::move(text));
  const std::lock_guard lock(launch.mutex);
  const std::size_t limit = std::max(1U, launch.request->options.fault_limit);
  if (launch.report.faults.size() < limit) launch.report.faults.push_back(std::move(event));
  if (launch.report.faults.size() >= limit) {
    launch.stopped = true;
    w.group->stopped = true;
  }
}

void report_interrupt(Wave& w) {
  Launch& launch = *w.group->launch;
  const CodeObject& object = *launch.object;
  const Inst& inst = w.code[w.next];
  const auto& id = w.group->id;
  std::string at = say("workgroup (", id[0], ",", id[1], ",", id[2], ") wave ", w.number,
                       " had executed ", w.executed, " instructions and stood at ",
                       object.place(inst.at), " `", disassemble(object.operations(), inst), "`");
  const std::lock_guard lock(launch.mutex);
  if (launch.interrupted_at.empty()) launch.interrupted_at = std::move(at);
  launch.stopped = true;
  w.group->stopped = true;
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
              .disassembly = {}};
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
  const bool note = problem == Problem::global_race && launch.request->options.checks.global_notes;
  auto& findings = note ? launch.report.notes : launch.report.findings;
  const auto same = [&](const Event& e) { return e.problem == problem && e.pc == inst.at; };
  if (findings.size() >= launch.request->options.finding_limit ||
      std::any_of(findings.begin(), findings.end(), same)) {
    ++launch.report.findings_dropped;
    return;
  }
  findings.push_back(
      event_of(w, inst, problem, finding.lane, finding.address, std::move(finding.text)));
  findings.back().lanes = finding.lanes;
  findings.back().cause = std::move(finding.cause);
  findings.back().fix = std::move(finding.fix);
}

}  // namespace mla::gfx
