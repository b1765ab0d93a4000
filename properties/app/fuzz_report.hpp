// FuzzReport: what a counted fuzz run found, as a record, a table, JSON and JUnit.
//
//   {"format": "mla-testbed fuzz 1", "version": "0.2.0", "seed": 1, "shard": [0, 3], "targets":
//    [{"name": "line", "corpus": "0123456789abcdef", "inputs": 1197, "judged": 399, "failed": 0,
//      "findings": []}]}
//
// It holds no times: shards merge into the very text that one run writes. Of each target the first
// kKept findings by number are kept, all are counted. Records may come from anywhere; numbers are
// checked before they are used. Fails: with the file and what is wrong there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "properties/app/build_id.hpp"
#include "properties/judge/answers.hpp"
#include "properties/step/verdict.hpp"

namespace mla::app {

inline constexpr std::size_t kKept = 10;

struct FuzzFinding {
  std::int64_t number = 0;
  std::string input;  // printable
  std::string what;   // printable
};

struct FuzzTally {
  std::string name;
  std::string corpus;       // its checksum
  std::int64_t inputs = 0;  // of all shards
  std::int64_t judged = 0;  // of this one
  std::int64_t failed = 0;
  std::vector<FuzzFinding> findings;

  void add(FuzzFinding finding);
};

struct FuzzReport {
  std::uint64_t seed = 1;
  prop::Shard shard;
  std::string build = build_id();
  std::vector<FuzzTally> targets;

  [[nodiscard]] bool complete() const;
  [[nodiscard]] prop::ExitCode exit_code() const;
};

// `FAIL line <input>`, the claim, what broke it, and the command that repeats it.
std::string finding_block(const FuzzReport& report, const FuzzTally& tally, const FuzzFinding& f);
std::string fuzz_table(const FuzzReport& report);
std::string fuzz_json(const FuzzReport& report);
std::string fuzz_junit(const FuzzReport& report);

std::string fuzz_record(const FuzzReport& report);
bool is_fuzz_record(std::string_view text);
Result<FuzzReport> read_fuzz_record(const std::string& path);
// Adds a further shard of the same run.
MaybeError merge_into(FuzzReport& all, const FuzzReport& one, const std::string& file,
                      const std::string& first);

}  // namespace mla::app
