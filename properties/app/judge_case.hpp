// One case judged as it is written, on one backend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/case/case.hpp"
#include "properties/app/backends.hpp"
#include "properties/judge/failure.hpp"
#include "properties/judge/judge.hpp"

namespace mla::app {

struct CaseQuestion {
  const Case& spec;
  const std::vector<const prop::Property*>& properties;
  prop::ExecutionLimits limits = {};
  const prop::Interposer* defect = nullptr;
  std::string options = {};                      // " --plant BUG-021", for the replay
  prop::Stopped stopped = [] { return false; };  // asked before every property but the first
};

struct JudgedCase {
  prop::Judgement judgement;
  std::optional<prop::Failure> failure;  // of all properties that fail
  std::int64_t held = 0;
  std::int64_t failed = 0;
  std::int64_t unsettled = 0;
  // A case that was refused, or about which no property says anything, has not passed.
  [[nodiscard]] prop::ExitCode exit_code() const;
};

JudgedCase judge_case(const CaseQuestion& question, const NamedBackend& named);

struct JudgedOn {
  const NamedBackend* backend = nullptr;
  JudgedCase answer;
};

// A suite for each backend, a test for each property; a property that says nothing is skipped.
std::string case_junit(const CaseQuestion& question, const std::vector<JudgedOn>& judged);
// One object, documented in docs/reference/output.md; ends with a newline.
std::string case_json(const CaseQuestion& question, const std::vector<JudgedOn>& judged,
                      prop::ExitCode exit);

}  // namespace mla::app
