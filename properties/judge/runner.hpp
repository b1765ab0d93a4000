// The runner: draws cases, judges each by every selected property, shrinks what fails.
//
// Cases are drawn by RapidCheck under an id of our own, never under one from the environment; a
// failure carries everything that reproduces it: the case line first. Cases that ran are counted
// for each property: zero is inconclusive unless the property can say nothing on the backend, and
// so is a large run without the kinds of cases that defects sit in (tags.hpp). Launches are counted
// as well, and a case on which another backend ran is no pass (judge.hpp). Cases are judged in
// parallel, and the report of a seed is the same for any number of workers, as long as no time
// limit and no signal cuts it off.
#pragma once

#include "properties/judge/run_options.hpp"
#include "properties/judge/run_report.hpp"

namespace mla::prop {

RunReport run_properties(const RunOptions& options);

}  // namespace mla::prop
