#include <nlohmann/json.hpp>

#include "core/case/case.hpp"
#include "properties/app/judge_case.hpp"
#include "properties/app/report.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

Json failure_json(const prop::Failure& f) {
  Json also = Json::array();
  for (const auto& [property, outcome] : f.also)
    also.push_back(
        {{"property", property->id}, {"message", outcome.message}, {"details", outcome.details}});
  return {{"property", f.property->id},
          {"case", format_case(f.smallest)},
          {"original", format_case(f.original)},
          {"message", f.outcome.message},
          {"details", f.outcome.details},
          {"also", also},
          {"seed", f.seed},
          {"shrinks", f.shrinks},
          {"shrinking_cut", f.cut},
          {"replay_options", f.replay_options},
          {"block", prop::failure_block(f)}};
}

Json tally_json(const prop::PropertyTally& t) {
  return {{"id", t.property->id},
          {"name", t.property->name},
          {"ran", t.ran},
          {"skipped", t.skipped},
          {"failed", t.failed},
          {"known", t.known},
          {"launches", t.launches},
          {"first_skip", t.why_skipped},
          {"skipped_alike", t.skipped_alike},
          {"verdict", name(verdict_of(t))},
          {"remark", remark(t)}};
}

Json launch_json(const Launch& l) {
  return {{"backend", l.backend},
          {"device", l.device},
          {"kind", name(l.kind)},
          {"kernel", l.kernel},
          {"launches", l.count}};
}

Json ledger_json(const prop::LedgerTally& t) {
  return {{"id", t.entry.id},     {"link", t.entry.link}, {"mechanism", t.entry.mechanism},
          {"covered", t.covered}, {"failed", t.failed},   {"verdict", name(t.verdict)},
          {"message", t.message}};
}

Json timing_json(const prop::RunReport& report, double peak_memory) {
  Json properties = Json::object();
  for (const prop::PropertyTally& t : report.tallies)
    properties[std::string(t.property->id)] = t.seconds;
  return {{"cases_per_second", cases_a_second(report)},
          {"peak_bytes", static_cast<std::int64_t>(peak_memory)},
          {"properties", properties}};
}

Json backend_json(const BackendReport& b, const RunSummary& summary) {
  Json properties = Json::array();
  for (const prop::PropertyTally& t : b.report.tallies) properties.push_back(tally_json(t));
  Json failures = Json::array();
  for (const prop::Failure& f : b.report.failures) failures.push_back(failure_json(f));
  Json out = {{"name", b.backend}};
  for (const auto& [fact, value] : b.facts) out["facts"][fact] = value;
  out["cases"] = b.report.cases;
  out["refused"] = b.report.refused;
  out["too_large"] = b.report.too_large;
  out["first_too_large"] = b.report.first_too_large;
  out["wanted"] = b.report.wanted;
  out["gave_up"] = b.report.gave_up;
  out["interrupted"] = b.report.interrupted;
  out["seconds"] = b.report.seconds;
  if (summary.timing) out["timing"] = timing_json(b.report, summary.peak_memory);
  out["launches"] = Json::array();
  for (const Launch& l : b.report.launches.entries()) out["launches"].push_back(launch_json(l));
  if (b.emulation != nullptr) out["emulation"] = Json::parse(b.emulation->json());
  out["properties"] = properties;
  out["ledger"] = Json::array();
  for (const prop::LedgerTally& t : b.report.ledger) out["ledger"].push_back(ledger_json(t));
  out["random_cases"] = b.report.random_cases;
  out["tags"] = Json::object();
  for (const prop::TagTally& t : b.report.tags) out["tags"][std::string(t.tag)] = t.cases;
  out["failures"] = failures;
  return out;
}

Json judged_json(const JudgedOn& on, const std::vector<const prop::Property*>& properties) {
  const prop::Judgement& judgement = on.answer.judgement;
  Json out = {{"name", on.backend->name}};
  if (judgement.why_refused) {
    out["refused"] = judgement.why_refused->message;
    out["bug"] = judgement.why_refused->bug;
  }
  out["properties"] = Json::array();
  for (std::size_t p = 0; p < properties.size(); ++p) {
    const prop::Outcome& outcome = judgement.outcomes[p];
    out["properties"].push_back({{"id", properties[p]->id},
                                 {"name", properties[p]->name},
                                 {"verdict", name(outcome.verdict)},
                                 {"message", outcome.message},
                                 {"details", outcome.details}});
  }
  out["launches"] = Json::array();
  const Launches launches = judgement.launches();
  for (const Launch& l : launches.entries()) out["launches"].push_back(launch_json(l));
  if (on.backend->emulation) out["emulation"] = Json::parse(on.backend->emulation->json());
  if (on.answer.failure) out["failure"] = failure_json(*on.answer.failure);
  return out;
}

// Text that is no UTF-8 is replaced, never thrown at the user.
std::string text_of(const Json& out) {
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string case_json(const CaseQuestion& question, const std::vector<JudgedOn>& judged,
                      prop::ExitCode exit) {
  Json backends = Json::array();
  for (const JudgedOn& on : judged) backends.push_back(judged_json(on, question.properties));
  return text_of({{"format", "mla-testbed replay 1"},
                  {"case", format_case(question.spec)},
                  {"backends", backends},
                  {"verdict", describe(exit)},
                  {"exit_code", static_cast<int>(exit)}});
}

std::string json_report(const RunSummary& summary) {
  Json backends = Json::array();
  for (const BackendReport& b : summary.backends) backends.push_back(backend_json(b, summary));
  const prop::ExitCode code = summary.exit_code();
  const Json out = {{"format", "mla-testbed run 1"},
                    {"seed", summary.seed},
                    {"backends", backends},
                    {"verdict", describe(code)},
                    {"exit_code", static_cast<int>(code)}};
  return text_of(out);
}

}  // namespace mla::app
