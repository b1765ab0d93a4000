// Recording: what a run found about each case, as a file, so that a run can be split over machines,
// merged, and continued.
//
//   {"format": "mla-testbed record 1", "version": "0.1.0", "command": "run",
//    "arguments": ["--cases", "2000"], "identity": "0123456789abcdef", "shard": [0, 3],
//    "texts": [...], "launches": [...], "backends": [{"name": "cpu", "seconds": 1.5, "count":
//    667, "cases": [...]}]}
//
// A backend that runs an installed AITER also has `code`, a sum over its code objects.
//
// `arguments` are the options that decide what is judged; `identity` is a sum over cases, seed,
// properties and ledger, so that answers never meet another run's questions. Records may come from
// anywhere: every index is checked before it is used. Fails: with file
// and what is wrong there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "properties/app/build_id.hpp"
#include "properties/files/output_file.hpp"
#include "properties/judge/answers.hpp"
#include "properties/judge/run_options.hpp"

namespace mla::app {

struct BackendAnswers {
  std::string name;
  std::string code = {};  // NamedBackend::code_sum(): the AITER that was judged; empty: none
  double seconds = 0;     // that judging has taken so far
  prop::Answers answers;
};

struct Recording {
  std::string path;  // where it is written at the end; empty: nowhere
  std::string command;
  std::vector<std::string> arguments;
  std::string identity;  // empty until the run is known
  std::string build = build_id();
  prop::Shard shard;
  std::vector<BackendAnswers> backends;
  bool only_answered = false;  // a merge: nothing but what is here
  // Where AITER lies on this machine, if not where AITER_HSA says; not recorded.
  std::string aiter_hsa = {};
  // What is read beside the record, and the record that a run goes on from: no report may take
  // their place, but the new record may take that of the old. Not recorded.
  std::vector<files::Input> inputs = {};
  std::string resumed = {};
};

// What a run is about, as sixteen hexadecimal digits.
std::string identity_of(const prop::RunOptions& run);

inline constexpr std::int64_t kMostShards = 10'000;

std::string record_text(const Recording& recording);
Result<Recording> read_record(const std::string& path);

}  // namespace mla::app
