// Answer: what check() found about one plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mla::dump {

// The rule of a finding about the lists of the batch, which contradict each other.
inline constexpr const char* kBatchRule = "batch";
// The rule of a finding about the lists, which are not those of the scheduler's step.
inline constexpr const char* kScheduleRule = "schedule";
// The rule of a finding about the launch: what the kernel found is not what was planned.
inline constexpr const char* kLaunchRule = "launch";
// The rule of a finding about the shape: no kernel takes it, whatever is planned.
inline constexpr const char* kKernelRule = "kernel";
// The rule of a finding about the buffers: the planner writes past the end of one.
inline constexpr const char* kBufferRule = "buffers";

// Why a plan of sparse attention is not looked at.
inline constexpr const char* kSparse = "a sparse plan";

struct Finding {
  std::string rule;
  std::string what;
  std::int64_t work = -1;
};

// What was found about one plan; a reason why it was not looked at excludes findings.
struct Answer {
  std::string name;
  std::string not_checked;
  std::vector<Finding> findings;
  std::vector<std::string> notes;  // what is no violation and worth knowing
  // How much of the batch is wrong: "2 of 8 requests (3, 5), 2 of 19 rows, 1 of 24 works (7)".
  // Empty without findings, and where they are about no request.
  std::string where;
  // Whose fault the findings are, in a few words and in a sentence; empty without findings.
  std::string culprit;
  std::string diagnosis;
};

}  // namespace mla::dump
