#include "properties/app/launch_profile.hpp"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "core/say.hpp"
#include "properties/files/printable.hpp"
#include "properties/show/svg.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

// Of a trace, whose JSON takes a kilobyte of memory for each event.
constexpr std::size_t kMostTraced = 8;
constexpr std::size_t kMostEvents = 500'000;

std::string count(std::uint64_t n) {
  return n == 0 ? "." : show::count(static_cast<std::int64_t>(n));
}

constexpr const char* kHead = "          hits  lanes        memory           LDS     banks  at\n";

std::string line_of(const gfx::ProfileLine& line, const std::string& at) {
  const gfx::InstructionCount& c = line.count;
  std::array<char, 16> lanes{};
  if (c.lanes > 0)
    std::snprintf(lanes.data(), lanes.size(), "%.1f",
                  static_cast<double>(c.lanes) / static_cast<double>(c.executed));
  std::array<char, 128> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "%14s %6s %13s %13s %9s  %-9s",
                count(c.executed).c_str(), lanes.data(),
                count(c.bytes_read + c.bytes_written).c_str(),
                count(c.lds_bytes_read + c.lds_bytes_written).c_str(),
                count(c.bank_conflicts).c_str(), at.c_str());
  return numbers.data() + line.text;
}

Json named(const char* what, std::size_t process, std::int64_t track, const std::string& name) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}};
}

Json event_of(const gfx::TraceEvent& e, std::size_t process) {
  const char* category = e.begin == e.end ? "finding"
                         : e.count == 0   ? "wait"
                         : e.text.empty() ? "run"
                                          : "instruction";
  Json out = {{"name", e.what}, {"cat", category}, {"ph", e.begin == e.end ? "i" : "X"},
              {"ts", e.begin},  {"pid", process},  {"tid", e.wave}};
  if (e.begin == e.end)
    out["s"] = "t";
  else
    out["dur"] = e.end - e.begin;
  Json args = {{"pc", e.pc}};
  if (e.count > 1) args["instructions"] = e.count;
  if (!e.text.empty()) args["text"] = e.text;
  out["args"] = std::move(args);
  return out;
}

}  // namespace

void LaunchProfile::note(std::string_view kernel, const gfx::LaunchReport& report) {
  auto found = kernels_.find(kernel);
  if (found == kernels_.end()) found = kernels_.emplace(kernel, Annotated()).first;
  ++found->second.launches;
  for (const gfx::ProfileLine& line : report.profile) {
    const auto [at, fresh] = found->second.lines.try_emplace(line.pc, line);
    if (!fresh) at->second.count.add(line.count);
  }
  if (report.trace.empty()) return;
  dropped_ += report.trace_dropped;
  if (traced_.size() == kMostTraced || events_ + report.trace.size() > kMostEvents) {
    ++left_out_;
    return;
  }
  events_ += report.trace.size();
  traced_.push_back({std::string(kernel), report.trace});
}

std::string LaunchProfile::annotated() const {
  std::string out;
  for (const auto& [kernel, entry] : kernels_) {
    std::uint64_t executed = 0;
    for (const auto& [pc, line] : entry.lines) executed += line.count.executed;
    out += say(out.empty() ? "" : "\n", kernel, ": ", show::counted(entry.launches, "launch"), ", ",
               show::counted(static_cast<std::int64_t>(executed), "wave instruction"), "\n", kHead);
    std::string function, source;
    for (const auto& [pc, line] : entry.lines) {
      const std::size_t plus = line.place.rfind('+');
      if (line.place.substr(0, plus) != function) {
        function = line.place.substr(0, plus);
        out += function + ":\n";
      }
      out += line_of(line, plus == std::string::npos ? "+0x0" : line.place.substr(plus));
      const std::string here = line.source ? line.source->text() : std::string();
      if (here != source && !here.empty()) out += "  ; " + files::printable(here);
      source = here;
      out += "\n";
    }
  }
  return out;
}

std::string LaunchProfile::trace() const {
  Json events = Json::array();
  for (std::size_t n = 0; n < traced_.size(); ++n) {
    events.push_back(named("process_name", n, 0, say("launch ", n, ": ", traced_[n].kernel)));
    std::set<std::uint32_t> waves;
    for (const gfx::TraceEvent& e : traced_[n].events) {
      if (waves.insert(e.wave).second)
        events.push_back(named("thread_name", n, e.wave, say("wave ", e.wave)));
      events.push_back(event_of(e, n));
    }
  }
  const Json out = {
      {"traceEvents", std::move(events)},
      {"otherData",
       {{"unit",
         "one microsecond is one instruction of the wave; a barrier lasts until the wave "
         "that executed most is there"},
        {"launches_left_out", left_out_},
        {"events_left_out", dropped_}}}};
  return out.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace mla::app
