// Selections: properties by id, cases from files, backends by name; shared by run and replay.
//
// A selection that matches nothing is an error of its own (exit 4, inconclusive): a filter that
// nothing passes must never look like success. A file that cannot be read is exit 3. Fails: with
// the value that matched nothing.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/case/case.hpp"
#include "properties/plants/plant.hpp"
#include "properties/step/property.hpp"

namespace mla::app {

// Why a selection failed and the exit code that says so.
struct Unselected {
  prop::ExitCode exit = prop::ExitCode::inconclusive;
  std::string message;
};
template <class T>
using Selection = std::variant<T, Unselected>;

// The properties with these ids or names, each once, in the order of the catalogue; all if there is
// no id. The canary only by its id.
Selection<std::vector<const prop::Property*>> select_properties(
    const std::vector<std::string>& ids);

// The plant with this id.
Selection<const prop::Plant*> select_plant(const std::string& id);

// The cases of all files, in order. A file that holds no case matches nothing.
Selection<std::vector<Case>> select_cases(const std::vector<std::string>& paths);

}  // namespace mla::app
