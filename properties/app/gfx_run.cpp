#include "properties/app/gfx.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/app/event_json.hpp"
#include "properties/files/printable.hpp"
#include "properties/show/svg.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

Json counts_json(const gfx::Statistics& s) {
  return {{"wave_instructions", s.instructions},
          {"workgroups", s.workgroups},
          {"waves", s.waves},
          {"bytes_read", s.bytes_read},
          {"bytes_written", s.bytes_written},
          {"lds_bytes_read", s.lds_bytes_read},
          {"lds_bytes_written", s.lds_bytes_written},
          {"lds_bank_conflicts", s.lds_bank_conflicts}};
}

// JSON has no number for these.
Json value_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

}  // namespace

std::string gfx_run_text(const gfx::LaunchReport& report, const GfxArguments& arguments,
                         const EmulationLog& log) {
  const gfx::Statistics& s = report.statistics;
  const auto n = [](std::uint64_t value, std::string_view what) {
    return show::counted(static_cast<std::int64_t>(value), what);
  };
  std::string out = "executed " + n(s.instructions, "wave instruction") + " of " +
                    n(s.waves, "wave") + " in " + n(s.workgroups, "workgroup") + "\n";
  for (const gfx::Event& fault : report.faults)
    out += "fault: " + files::printable(fault.line()) + "\n";
  out += log.text();
  for (const GfxBuffer& buffer : arguments.buffers) {
    if (buffer.show == 0) continue;
    out += say("argument ", buffer.argument, ":");
    for (const double value : shown_elements(buffer)) {
      const Json json = value_json(value);
      out += " " + (json.is_string() ? json.get<std::string>() : json.dump());
    }
    out += "\n";
  }
  for (const gfx::Assumed& a : report.assumed)
    out += say("rests on ", a.name, ", ", a.times, " wave instructions\n");
  return out;
}

std::string gfx_run_json(const gfx::LaunchReport& report, const GfxArguments& arguments,
                         const EmulationLog& log) {
  Json faults = Json::array(), buffers = Json::array();
  for (const gfx::Event& fault : report.faults) faults.push_back(event_json(fault));
  for (const GfxBuffer& buffer : arguments.buffers) {
    Json values = Json::array();
    for (const double value : shown_elements(buffer)) values.push_back(value_json(value));
    buffers.push_back({{"argument", buffer.argument},
                       {"type", buffer.type},
                       {"bytes", buffer.bytes.size()},
                       {"output", buffer.output.empty() ? Json(nullptr) : Json(buffer.output)},
                       {"values", values}});
  }
  const Json out = {{"faults", faults},
                    {"emulated", Json::parse(log.json())},
                    {"executed", counts_json(report.statistics)},
                    {"buffers", buffers}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mla::app
