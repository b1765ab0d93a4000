// What the launches on an emulated device showed, as text and as JSON.
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "core/text.hpp"
#include "properties/app/emulation.hpp"
#include "properties/app/event_json.hpp"
#include "properties/show/svg.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;
using show::counted;

Json cause_json(const std::optional<gfx::Cause>& cause) {
  if (!cause) return nullptr;
  return {{"place", cause->place},
          {"pc", hex(cause->pc)},
          {"instruction", cause->disassembly},
          {"source", cause->source ? Json(cause->source->text()) : Json(nullptr)},
          {"workgroup", cause->workgroup},
          {"wave", cause->wave}};
}

Json events_json(const std::map<EmulationLog::Key, EmulationLog::Entry>& events) {
  Json out = Json::array();
  for (const auto& [key, entry] : events) {
    Json one = {{"kernel", std::get<0>(key)}};
    one.update(event_json(entry.first));
    one["launches"] = entry.launches;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Json event_json(const gfx::Event& e) {
  return {{"problem", gfx::name_of(e.problem)},
          {"place", e.place},
          {"pc", hex(e.pc)},
          {"instruction", e.disassembly},
          {"source", e.source ? Json(e.source->text()) : Json(nullptr)},
          {"inlined_from",
           e.source && !e.source->inlined.empty() ? Json(e.source->inlined) : Json(nullptr)},
          {"workgroup", e.workgroup},
          {"wave", e.wave},
          {"lane", e.lane < 0 ? Json(nullptr) : Json(e.lane)},
          {"lanes", e.lanes == 0 ? Json(nullptr) : Json(hex(e.lanes))},
          {"address", e.address_text().empty() ? Json(nullptr) : Json(e.address_text())},
          {"text", e.text},
          {"cause", cause_json(e.cause)},
          {"missing", e.fix}};
}

void EmulationLog::note(std::string_view kernel, const gfx::LaunchReport& report) {
  auto found = launches_.find(kernel);
  if (found == launches_.end()) found = launches_.emplace(kernel, 0).first;
  ++found->second;
  for (const gfx::Assumed& a : report.assumed) assumed_[a.name] += a.times;
  bank_conflicts_ += report.statistics.lds_bank_conflicts;
  const auto add = [&](const gfx::Event& event, std::map<Key, Entry>& to) {
    Entry& entry = to[Key{kernel, event.pc, event.problem}];
    if (entry.launches++ == 0) entry.first = event;
  };
  for (const gfx::Event& event : report.findings) add(event, findings_);
  for (const gfx::Event& event : report.notes) add(event, notes_);
}

std::string EmulationLog::text() const {
  std::int64_t launches = 0;
  for (const auto& [kernel, count] : launches_) launches += count;
  std::string out = "emulated with" + words_ + ": " + counted(launches, "launch") + " of " +
                    counted(std::ssize(launches_), "kernel") + ", " +
                    counted(std::ssize(findings_), "finding");
  if (bank_conflicts_ != 0) out += say(", ", bank_conflicts_, " extra passes over LDS banks");
  if (!notes_.empty()) out += ", " + counted(std::ssize(notes_), "note");
  out += "\n";
  const auto add = [&](const char* what, const Entry& entry) {
    out += what + entry.first.line() + " (in " + counted(entry.launches, "launch") + ")\n";
  };
  for (const auto& [key, entry] : findings_) add("finding: ", entry);
  for (const auto& [key, entry] : notes_) add("note: ", entry);
  return out;
}

std::string EmulationLog::json() const {
  const Json out = {{"options", words_.empty() ? words_ : words_.substr(1)},
                    {"launches", launches_},
                    {"lds_bank_conflicts", bank_conflicts_},
                    {"assumed", assumed_},
                    {"findings", events_json(findings_)},
                    {"notes", events_json(notes_)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mla::app
