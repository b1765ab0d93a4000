// What `run` and `cross-check` share: judging on one backend after the other, and the report.
//
// Private to properties/cli. Fails: as finish() does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/cli/backends.hpp"
#include "properties/cli/report.hpp"

namespace mla::cli {

// `run` without backend, workers and architecture, which are the backend's.
RunSummary judge_on(const std::vector<NamedBackend>& backends, prop::RunOptions run, bool progress);

struct Publication {
  bool json = false;
  std::string junit;  // empty: none
};
// Failure blocks, then the table; in JSON mode stdout holds the object alone.
prop::ExitCode publish(std::string_view command, const RunSummary& summary,
                       const Publication& publication);

}  // namespace mla::cli
