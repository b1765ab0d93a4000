// A run over one backend after the other, with what a recording knows of it.
//
// `run` comes without backend, workers and architecture: each backend sets its own. A case that
// `recording` has an answer for is not judged again.
#pragma once

#include <functional>
#include <vector>

#include "core/result.hpp"
#include "properties/app/backends.hpp"
#include "properties/app/recording.hpp"
#include "properties/app/report.hpp"
#include "properties/judge/run_options.hpp"

namespace mla::app {

// Why this run cannot be recorded; nothing if it can.
MaybeError why_no_record(const std::vector<NamedBackend>& backends, const Recording& recording);

// Makes the recording one of this run. Fails: it is of another one, or of another AITER.
MaybeError begin_answers(const std::vector<NamedBackend>& backends, const prop::RunOptions& run,
                         Recording& recording);

// `watch` is called with the run on each backend, before it is judged.
RunSummary judge_run(const std::vector<NamedBackend>& backends, const prop::RunOptions& asked,
                     Recording& recording, const std::function<void(prop::RunOptions&)>& watch);

}  // namespace mla::app
