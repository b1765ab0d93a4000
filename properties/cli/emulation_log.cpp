// What the launches on an emulated device showed, as text and as JSON.
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/cli/emulation.hpp"

namespace mla::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string counted(std::uint64_t n, const std::string& word, const char* more) {
  return say(n, " ", word, n == 1 ? "" : more);
}

Json cause_json(const std::optional<gfx::Cause>& cause) {
  if (!cause) return nullptr;
  return {{"place", cause->place},
          {"pc", hex(cause->pc)},
          {"instruction", cause->disassembly},
          {"workgroup", cause->workgroup},
          {"wave", cause->wave}};
}

Json events_json(const std::map<EmulationLog::Key, EmulationLog::Entry>& events) {
  Json out = Json::array();
  for (const auto& [key, entry] : events) {
    const gfx::Event& e = entry.first;
    out.push_back({{"kernel", std::get<0>(key)},
                   {"problem", gfx::name_of(e.problem)},
                   {"place", e.place},
                   {"pc", hex(e.pc)},
                   {"instruction", e.disassembly},
                   {"source", e.source ? Json(e.source->text()) : Json(nullptr)},
                   {"workgroup", e.workgroup},
                   {"wave", e.wave},
                   {"lane", e.lane < 0 ? Json(nullptr) : Json(e.lane)},
                   {"address", hex(e.address)},
                   {"text", e.text},
                   {"cause", cause_json(e.cause)},
                   {"missing", e.fix},
                   {"launches", entry.launches}});
  }
  return out;
}

}  // namespace

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
  std::uint64_t launches = 0;
  for (const auto& [kernel, count] : launches_) launches += static_cast<std::uint64_t>(count);
  std::string out = "emulated with" + words_ + ": " + counted(launches, "launch", "es") + " of " +
                    counted(launches_.size(), "kernel", "s") + ", " +
                    counted(findings_.size(), "finding", "s");
  if (bank_conflicts_ != 0) out += say(", ", bank_conflicts_, " extra passes over LDS banks");
  if (!notes_.empty()) out += ", " + counted(notes_.size(), "note", "s");
  out += "\n";
  const auto add = [&](const char* what, const Entry& entry) {
    out += what + entry.first.line() + " (in " +
           counted(static_cast<std::uint64_t>(entry.launches), "launch", "es") + ")\n";
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

}  // namespace mla::cli
