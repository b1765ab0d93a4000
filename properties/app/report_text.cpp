#include <algorithm>
#include <cstdio>

#include "core/say.hpp"
#include "properties/app/report.hpp"
#include "properties/claims/support/canary.hpp"
#include "properties/files/terminal.hpp"

namespace mla::app {
namespace {

using prop::ExitCode;
using prop::Verdict;

files::Colour colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return files::Colour::green;
    case Verdict::fail:
    case Verdict::unexpected_pass:
      return files::Colour::red;
    case Verdict::inconclusive:
    case Verdict::skip:
    case Verdict::known_fail:
      return files::Colour::yellow;
    case Verdict::not_applicable:
      return files::Colour::none;
  }
  return files::Colour::none;
}

int gravity(ExitCode code) {
  constexpr ExitCode kOrder[] = {
      ExitCode::held,        ExitCode::skipped, ExitCode::inconclusive, ExitCode::unexpected_pass,
      ExitCode::environment, ExitCode::usage,   ExitCode::failed};
  int rank = 0;
  for (const ExitCode c : kOrder) {
    if (c == code) break;
    ++rank;
  }
  return rank;
}

std::string line(const prop::PropertyTally& t) {
  char text[160];
  std::snprintf(text, sizeof text, "%-4s %-24s %9lld %9lld %7lld  ",
                std::string(t.property->id).c_str(), std::string(t.property->name).c_str(),
                static_cast<long long>(t.ran), static_cast<long long>(t.skipped),
                static_cast<long long>(t.failed));
  const Verdict verdict = verdict_of(t);
  return text + files::coloured(prop::name(verdict), colour_of(verdict)) + "\n";
}

std::string ledger_line(const prop::LedgerTally& t) {
  if (t.verdict != Verdict::known_fail)
    return say(prop::name(t.verdict), ": ", t.entry.id, ", ", t.message, "\n");
  if (is_self_test(t))
    return say("self-test: P00, the canary, failed on purpose in ", t.failed, " of ", t.covered,
               " cases and on its witness: a failure would be seen\n");
  if (t.covered == 0 && t.failed == 0) return {};
  return say("known: ", t.entry.id, ", failed in ", t.failed, " of ", t.covered,
             " covered cases: ", t.entry.mechanism, " (", t.entry.link, ")\n");
}

// What a reader must know beside the verdicts of the properties.
std::string remarks(const prop::RunReport& report) {
  std::string out;
  for (const prop::PropertyTally& t : report.tallies)
    if (const std::string why = remark(t); !why.empty()) out += say(t.property->id, " ", why, "\n");
  for (const prop::LedgerTally& t : report.ledger) out += ledger_line(t);
  for (const prop::TagTally& t : report.missed_quotas())
    out += "inconclusive: " + shortfall(t, report) + "\n";
  if (!report.first_too_large.empty())
    out += say("not judged, for want of memory: ",
               report.too_large > 1 ? say(report.too_large, " cases, the first of them ") : "",
               report.first_too_large, "\n");
  if (const std::string why = early_end(report); !why.empty())
    out += (report.gave_up ? "gave up: " : "interrupted: ") + why + "\n";
  return out;
}

}  // namespace

bool is_self_test(const prop::LedgerTally& t) {
  return t.entry.properties.size() == 1 && t.entry.properties.front() == &prop::canary();
}

std::vector<const prop::PropertyTally*> judged(const prop::RunReport& report) {
  const bool tests_itself = std::ranges::any_of(report.ledger, is_self_test);
  std::vector<const prop::PropertyTally*> out;
  for (const prop::PropertyTally& t : report.tallies)
    if (!tests_itself || t.property != &prop::canary()) out.push_back(&t);
  return out;
}

Verdict verdict_of(const prop::PropertyTally& tally) {
  if (tally.failed > 0) return Verdict::fail;
  if (tally.unsettled > 0) return Verdict::inconclusive;
  if (tally.known > 0) return Verdict::known_fail;
  if (tally.ran > 0) return Verdict::pass;
  if (!tally.never_applies.empty()) return Verdict::not_applicable;
  return tally.skipped > 0 ? Verdict::skip : Verdict::inconclusive;
}

std::string remark(const prop::PropertyTally& tally) {
  switch (verdict_of(tally)) {
    case Verdict::not_applicable:
      return "is not applicable: " + tally.never_applies;
    case Verdict::inconclusive:
      return tally.unsettled == 0 ? "" : "has no verdict: " + tally.why_unsettled;
    case Verdict::skip:
      return say("ran on no case: ", tally.why_skipped, " (", tally.skipped_alike, " of ",
                 tally.skipped, " cases)");
    default:
      return {};
  }
}

std::string shortfall(const prop::TagTally& tag, const prop::RunReport& report) {
  return say("only ", tag.cases, " of ", report.random_cases, " random cases have ", tag.tag);
}

std::string early_end(const prop::RunReport& report) {
  if (!report.gave_up && !report.interrupted) return {};
  const std::string judged =
      say(report.cases, report.wanted > 0 ? say(" of ", report.wanted) : "", " cases were judged");
  return report.gave_up ? "the time was over when " + judged : judged;
}

std::string describe(ExitCode code) {
  switch (code) {
    case ExitCode::held:
      return "all held";
    case ExitCode::failed:
      return "a property failed";
    case ExitCode::usage:
      return "usage error";
    case ExitCode::environment:
      return "environment fault";
    case ExitCode::inconclusive:
      return "inconclusive";
    case ExitCode::unexpected_pass:
      return "a known failure passed";
    case ExitCode::skipped:
      return "skipped";
  }
  return {};
}

ExitCode RunSummary::exit_code() const {
  ExitCode code = backends.empty() ? ExitCode::inconclusive : ExitCode::held;
  for (const BackendReport& b : backends)
    if (gravity(b.exit_code()) > gravity(code)) code = b.exit_code();
  return code;
}

ExitCode BackendReport::exit_code() const {
  return emulation != nullptr && !emulation->findings().empty() ? ExitCode::failed
                                                                : report.exit_code();
}

std::string verdict_table(const RunSummary& summary) {
  std::string out;
  for (const auto& [backend, facts, report, emulation] : summary.backends) {
    char head[200];
    std::snprintf(head, sizeof head, "backend %s: %lld cases (%lld refused) in %.1f s, seed %llu\n",
                  backend.c_str(), static_cast<long long>(report.cases),
                  static_cast<long long>(report.refused), report.seconds,
                  static_cast<unsigned long long>(summary.seed));
    out += head;
    for (const auto& [fact, value] : facts) out += "  " + fact + ": " + value + "\n";
    for (const std::string& l : report.launches.lines()) out += "  launched: " + l + "\n";
    out += "id   property                       ran   skipped  failed  verdict\n";
    for (const prop::PropertyTally* tally : judged(report)) out += line(*tally);
    out += remarks(report);
    if (emulation != nullptr) out += emulation->text();
    if (summary.timing) out += timing_table(report, summary.peak_memory);
    out += "\n";
  }
  const ExitCode code = summary.exit_code();
  const files::Colour colour = code == ExitCode::held     ? files::Colour::green
                               : code == ExitCode::failed ? files::Colour::red
                                                          : files::Colour::yellow;
  return say(out, "verdict: ", files::coloured(describe(code), colour), " (exit ",
             static_cast<int>(code), ")\n");
}

}  // namespace mla::app
