// A captured step executed again and held to the float64 reference.
//
// Fails: with what is wrong with the bundle; a backend that does not take its shape is skipped with
// the reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "properties/app/backends.hpp"
#include "properties/step/verdict.hpp"

namespace mla::app {

struct BundleReplay {
  std::string text;  // what was found, and whose fault it is
  prop::ExitCode exit = prop::ExitCode::held;
  std::optional<std::string> page = {};  // the errors of the wrong result, and the plan
};

// Judges the plan, then the result of each backend, then the engine's own if it was dumped. There
// is a page if it is asked for and the step was executed.
Result<BundleReplay> replay_bundle(const std::string& path,
                                   const std::vector<NamedBackend>& backends, bool with_page);

}  // namespace mla::app
