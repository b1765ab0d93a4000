// mla_gfx.h: what a launch did.
#include "core/say.hpp"
#include "properties/c_api/border.hpp"
#include "properties/c_api/gfx_objects.hpp"

namespace mla::c_api {

mla_gfx_report make_report(gfx::LaunchReport launch) {
  mla_gfx_report report{std::move(launch), {}};
  const std::size_t count = report.launch.faults.size() + report.launch.findings.size();
  for (std::size_t k = 0; k < count; ++k) {
    const gfx::Event& event = report.event(k);
    report.lines.push_back({event.source ? event.source->file : std::string(), event.line()});
  }
  return report;
}

}  // namespace mla::c_api

namespace {

using mla::c_api::at_border;
using mla::c_api::usage;
using Outcome = std::optional<mla::c_api::Failure>;

}  // namespace

extern "C" {

size_t mla_gfx_fault_count(const mla_gfx_report* report) {
  return report == nullptr ? 0 : report->launch.faults.size();
}

size_t mla_gfx_event_count(const mla_gfx_report* report) {
  return report == nullptr ? 0 : report->lines.size();
}

uint64_t mla_gfx_findings_dropped(const mla_gfx_report* report) {
  return report == nullptr ? 0 : report->launch.findings_dropped;
}

int mla_gfx_event_of(const mla_gfx_report* report, size_t index, mla_gfx_event* out) {
  return at_border([&]() -> Outcome {
    if (report == nullptr || out == nullptr) return usage("parameter 'report' or 'out' is NULL");
    if (index >= report->lines.size()) {
      return usage(mla::say("the report has ", report->lines.size(), " events, number ", index,
                            " was asked for"));
    }
    const mla::gfx::Event& event = report->event(index);
    *out = {.is_fault = index < report->launch.faults.size() ? 1 : 0,
            .problem = mla::gfx::name_of(event.problem),
            .workgroup = {event.workgroup[0], event.workgroup[1], event.workgroup[2]},
            .wave = event.wave,
            .lane = event.lane,
            .line = event.source ? event.source->line : 0,
            .column = event.source ? event.source->column : 0,
            .file = report->lines[index].file.c_str(),
            .place = event.place.c_str(),
            .disassembly = event.disassembly.c_str(),
            .pc = event.pc,
            .address = event.address,
            .range = event.range.c_str(),
            .range_offset = event.range_offset,
            .range_size = event.range_size,
            .text = event.text.c_str(),
            .line_text = report->lines[index].line.c_str()};
    return std::nullopt;
  });
}

int mla_gfx_statistics_of(const mla_gfx_report* report, mla_gfx_statistics* out) {
  return at_border([&]() -> Outcome {
    if (report == nullptr || out == nullptr) return usage("parameter 'report' or 'out' is NULL");
    const mla::gfx::Statistics& s = report->launch.statistics;
    *out = {.instructions = s.instructions,
            .workgroups = s.workgroups,
            .waves = s.waves,
            .bytes_read = s.bytes_read,
            .bytes_written = s.bytes_written,
            .lds_bytes_read = s.lds_bytes_read,
            .lds_bytes_written = s.lds_bytes_written,
            .scratch_bytes = s.scratch_bytes,
            .lds_bank_conflicts = s.lds_bank_conflicts,
            .matrix_instructions = s.by_class[static_cast<std::size_t>(mla::gfx::Class::mfma)]};
    return std::nullopt;
  });
}

void mla_gfx_free(mla_gfx_report* report) {
  delete report;
}
}
