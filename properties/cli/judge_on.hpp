// What `run` and `cross-check` share: judging on one backend after the other, and the report.
//
// Private to properties/cli. Fails: as finish() does; one report that cannot be written keeps back
// no other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/app/backends.hpp"
#include "properties/app/recording.hpp"
#include "properties/app/report.hpp"
#include "properties/cli/judging_options.hpp"

namespace mla::cli {

// What `recording` has an answer for is not judged again; it is written if it has a path.
//
// Judges, prints each failure block as soon as it is certain, then the table. In JSON mode stdout
// holds the object alone and the blocks go to stderr. SIGINT, SIGTERM and SIGHUP end it early, with
// all reports. `run` comes without backend, workers and architecture, which are the backend's.
prop::ExitCode judge_and_publish(std::string_view command,
                                 const std::vector<app::NamedBackend>& backends,
                                 const prop::RunOptions& run, bool progress,
                                 const Publication& publication, app::Recording recording);

}  // namespace mla::cli
