#include "properties/app/fuzz_report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/app/build_info.hpp"
#include "properties/app/merge_files.hpp"
#include "properties/app/record_json.hpp"
#include "properties/app/xml_text.hpp"
#include "properties/files/terminal.hpp"
#include "properties/fuzz/target.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;
using prop::ExitCode;

constexpr const char* kFuzzFormat = "mla-testbed fuzz 1";
constexpr std::int64_t kMostInputs = 2'000'000'000'000;

FuzzTally tally_of(const nlohmann::json& object, const prop::Shard& shard) {
  FuzzTally t;
  t.name = object.at("name").get<std::string>();
  if (prop::fuzz::find_target(t.name) == nullptr) reject("there is no target '" + t.name + "'");
  t.corpus = object.at("corpus").get<std::string>();
  t.inputs = number_of(object, "inputs", kMostInputs);
  t.judged = number_of(object, "judged", shard.of(t.inputs));
  t.failed = number_of(object, "failed", t.judged);
  for (const nlohmann::json& one : object.at("findings")) {
    const std::int64_t number = number_of(one, "number", t.inputs - 1);
    if (!shard.has(number)) reject(say("input ", number, " is of another shard"));
    t.findings.push_back({number, files::printable(one.at("input").get<std::string>()),
                          files::printable(one.at("what").get<std::string>())});
  }
  const auto kept = std::min<std::int64_t>(t.failed, static_cast<std::int64_t>(kKept));
  if (std::ssize(t.findings) != kept)
    reject(say("target ", t.name, " has ", t.findings.size(), " findings; expected ", kept));
  return t;
}

Json as_json(const FuzzTally& t) {
  Json findings = Json::array();
  for (const FuzzFinding& f : t.findings)
    findings.push_back({{"number", f.number}, {"input", f.input}, {"what", f.what}});
  return {{"name", t.name},     {"corpus", t.corpus}, {"inputs", t.inputs},
          {"judged", t.judged}, {"failed", t.failed}, {"findings", findings}};
}

FuzzReport report_of(const nlohmann::json& document) {
  check_format(document, kFuzzFormat);
  FuzzReport out;
  out.build = document.at("build").get<std::string>();
  out.seed = seed_of(document);
  out.shard = shard_of(document);
  for (const nlohmann::json& one : document.at("targets")) {
    out.targets.push_back(tally_of(one, out.shard));
    for (std::size_t i = 0; i + 1 < out.targets.size(); ++i)
      if (out.targets[i].name == out.targets.back().name)
        reject("target " + out.targets[i].name + " is there twice");
  }
  return out;
}

std::string verdict_of(const FuzzTally& t, const prop::Shard& shard) {
  if (t.failed > 0) return "FAIL";
  if (t.judged == 0) return "nothing ran";
  return t.judged < shard.of(t.inputs) ? "interrupted" : "held";
}

std::int64_t sum(const FuzzReport& r, std::int64_t (*of)(const FuzzTally&, const prop::Shard&)) {
  std::int64_t n = 0;
  for (const FuzzTally& t : r.targets) n += of(t, r.shard);
  return n;
}

std::int64_t wanted_of(const FuzzReport& r) {
  return sum(r, [](const FuzzTally& t, const prop::Shard& s) { return s.of(t.inputs); });
}

std::int64_t judged_of(const FuzzReport& r) {
  return sum(r, [](const FuzzTally& t, const prop::Shard&) { return t.judged; });
}

}  // namespace

void FuzzTally::add(FuzzFinding finding) {
  const auto after =
      std::upper_bound(findings.begin(), findings.end(), finding.number,
                       [](std::int64_t number, const FuzzFinding& f) { return number < f.number; });
  findings.insert(after, std::move(finding));
  if (findings.size() > kKept) findings.pop_back();
}

bool FuzzReport::complete() const {
  return judged_of(*this) == wanted_of(*this);
}

ExitCode FuzzReport::exit_code() const {
  if (sum(*this, [](const FuzzTally& t, const prop::Shard&) { return t.failed; }) > 0)
    return ExitCode::failed;
  return judged_of(*this) > 0 && complete() ? ExitCode::held : ExitCode::inconclusive;
}

std::string finding_block(const FuzzReport& report, const FuzzTally& tally, const FuzzFinding& f) {
  return say("FAIL ", tally.name, " ", f.input, "\n  ",
             prop::fuzz::find_target(tally.name)->sentence, "\n  ", f.what,
             "\nREPRO: mla-testbed fuzz --target ", tally.name, " --seed ", report.seed,
             " --number ", f.number, "\n");
}

std::string fuzz_table(const FuzzReport& report) {
  std::string out;
  for (const FuzzTally& t : report.targets)
    for (const FuzzFinding& f : t.findings) out += finding_block(report, t, f);
  out += "target                 inputs  findings  verdict\n";
  for (const FuzzTally& t : report.targets) {
    char row[160];
    std::snprintf(row, sizeof row, "%-17s %11lld %9lld  %s\n", t.name.c_str(),
                  static_cast<long long>(t.judged), static_cast<long long>(t.failed),
                  verdict_of(t, report.shard).c_str());
    out += row;
  }
  if (!report.complete())
    out +=
        say("interrupted: ", judged_of(report), " of ", wanted_of(report), " inputs were judged\n");
  return out;
}

std::string fuzz_json(const FuzzReport& report) {
  Json targets = Json::array();
  for (const FuzzTally& t : report.targets) {
    Json one = as_json(t);
    one["verdict"] = verdict_of(t, report.shard);
    targets.push_back(std::move(one));
  }
  return json_text({{"command", "fuzz"},
                    {"seed", report.seed},
                    {"exit_code", static_cast<int>(report.exit_code())},
                    {"targets", std::move(targets)}},
                   2);
}

std::string fuzz_junit(const FuzzReport& report) {
  std::string cases;
  std::int64_t failures = 0;
  std::int64_t errors = 0;
  for (const FuzzTally& t : report.targets) {
    cases += say("    <testcase", attribute("classname", "mla-testbed.fuzz"),
                 attribute("name", t.name), ">\n");
    failures += t.failed > 0 ? 1 : 0;
    for (const FuzzFinding& f : t.findings)
      cases += say("      <failure", attribute("message", f.what), ">",
                   xml(finding_block(report, t, f)), "</failure>\n");
    if (t.failed == 0 && (t.judged == 0 || t.judged < report.shard.of(t.inputs))) {
      ++errors;
      cases += say("      <error",
                   attribute("message", say(t.judged, " of ", report.shard.of(t.inputs),
                                            " inputs were judged")),
                   "/>\n");
    }
    cases += say("      <system-out>", xml(prop::fuzz::find_target(t.name)->sentence), " Judged ",
                 t.judged, ".</system-out>\n    </testcase>\n");
  }
  return junit_document("fuzz", std::ssize(report.targets), failures, errors, cases);
}

std::string fuzz_record(const FuzzReport& report) {
  Json targets = Json::array();
  for (const FuzzTally& t : report.targets) targets.push_back(as_json(t));
  return json_text({{"format", kFuzzFormat},
                    {"version", kVersion},
                    {"build", report.build},
                    {"seed", report.seed},
                    {"shard", {report.shard.index, report.shard.count}},
                    {"targets", std::move(targets)}},
                   -1);
}

bool is_fuzz_record(std::string_view text) {
  return text.starts_with(say("{\"format\":\"", kFuzzFormat, "\""));
}

Result<FuzzReport> read_fuzz_record(const std::string& path) {
  return read_json_record(path, "a fuzz run", report_of);
}

MaybeError merge_into(FuzzReport& all, const FuzzReport& one, const std::string& file,
                      const std::string& first) {
  const auto differs = [&](const char* what) { return of_another_run(file, first, what); };
  if (one.seed != all.seed) return differs("the seeds");
  if (one.targets.size() != all.targets.size()) return differs("the targets");
  for (std::size_t i = 0; i < one.targets.size(); ++i) {
    FuzzTally& into = all.targets[i];
    const FuzzTally& from = one.targets[i];
    if (from.name != into.name) return differs("the targets");
    if (from.corpus != into.corpus) return differs("the corpora");
    if (from.inputs != into.inputs) return differs("the numbers of inputs");
    into.judged += from.judged;
    into.failed += from.failed;
    for (const FuzzFinding& f : from.findings) into.add(f);
  }
  return std::nullopt;
}

}  // namespace mla::app
