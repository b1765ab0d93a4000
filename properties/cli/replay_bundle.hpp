// A captured step executed again and held to the float64 reference.
//
// Private to properties/cli. Fails: with what is wrong with the bundle; a backend that does not
// take its shape is skipped with the reason.
#pragma once

#include <string>
#include <vector>

#include "properties/app/backends.hpp"
#include "properties/step/verdict.hpp"

namespace mla::cli {

// Judges the plan, then the result of each backend, then the engine's own if it was dumped, and
// prints what was found and whose fault it is.
// With `html`, also writes a page with the errors of the wrong result and the plan.
prop::ExitCode replay_bundle(const std::string& path,
                             const std::vector<app::NamedBackend>& backends,
                             const std::string& html);

}  // namespace mla::cli
