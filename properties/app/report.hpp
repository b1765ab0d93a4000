// The report of a run: the verdict table for people, JSON and JUnit XML for machines.
//
// Pure functions from the reports of one or more backends to text. One verdict for each property
// and backend: fail if a case failed, known-fail if all that failed are listed, inconclusive if
// nothing ran or another backend ran, pass if a case ran, not-applicable if none can, skip if all
// were skipped. What was launched stands below the backend's name. Units: cases, launches, seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/app/emulation.hpp"
#include "properties/judge/run_report.hpp"

namespace mla::app {

// What a report says about where it was made: device, driver, code objects.
using Facts = std::vector<std::pair<std::string, std::string>>;

struct BackendReport {
  std::string backend;
  Facts facts = {};  // of its device, if it has one
  prop::RunReport report;
  std::shared_ptr<const EmulationLog> emulation = {};  // null: nothing was asked of it
  // That of the report, and failed where the emulator found something.
  [[nodiscard]] prop::ExitCode exit_code() const;
};

struct RunSummary {
  std::uint64_t seed = 1;
  std::vector<BackendReport> backends;
  bool timing = false;     // whether the reports say where the time went
  double peak_memory = 0;  // bytes that this process has used at most; with timing
  // The gravest of all: a failure, then what no case could settle.
  [[nodiscard]] prop::ExitCode exit_code() const;
};

// Whether the entry is the canary's, which a run over all properties brings along to test itself.
// Asked for by name, the canary is a property like others.
bool is_self_test(const prop::LedgerTally& tally);
// The properties of a run without its self-test.
std::vector<const prop::PropertyTally*> judged(const prop::RunReport& report);

prop::Verdict verdict_of(const prop::PropertyTally& tally);
// Why a property has no verdict; empty if it has one.
std::string remark(const prop::PropertyTally& tally);
// Why a tag misses its quota.
std::string shortfall(const prop::TagTally& tag, const prop::RunReport& report);
// Why a run ended before it was done, and how many cases were judged; empty if it was done.
std::string early_end(const prop::RunReport& report);
// What an exit code says, in a few words.
std::string describe(prop::ExitCode code);

// A table for each backend and a last line with the verdict of the whole.
std::string verdict_table(const RunSummary& summary);
// Cases a second, memory, and the properties with what they took, the longest first. Ends with a
// newline.
double cases_a_second(const prop::RunReport& report);
std::string timing_table(const prop::RunReport& report, double peak_memory);
// One object, documented in docs/reference/output.md; ends with a newline.
std::string json_report(const RunSummary& summary);
// One testsuite for each backend, one testcase for each property.
std::string junit_report(const RunSummary& summary);

}  // namespace mla::app
