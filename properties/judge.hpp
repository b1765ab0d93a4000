// Judge: one case, looked at by several properties through one subject.
//
// Cases are judged in parallel, so each executes with one thread unless a property asks for more.
// Fails: never; a stage that refuses the case is for the properties to skip, and is reported.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "properties/property.hpp"

namespace mla::prop {

struct Judgement {
  // By shape or builder, with a reason; another kind than decode, when every property skipped it.
  bool refused = false;
  std::vector<Outcome> outcomes;  // one for each property
};

Judgement judge(const Case& c, std::span<const Property* const> properties, const Backend& backend,
                const Interposer* interposer);

// The same backend, which runs with one thread wherever the number is left open.
std::unique_ptr<Backend> one_thread(const Backend& backend);

}  // namespace mla::prop
