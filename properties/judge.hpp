// Judge: one case, looked at by several properties through one subject.
//
// Cases are judged in parallel, so each executes with one thread unless a property asks for more.
// Fails: never; a stage that refuses the case is for the properties to skip, and is reported.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "properties/property.hpp"

namespace mla::prop {

// Whether whoever asked for a judgement wants it no longer: a signal, or time that is over. Called
// by any thread.
using Stopped = std::function<bool()>;

struct Judgement {
  // By shape or builder, with a reason; another kind than decode, when every property skipped it.
  bool refused = false;
  std::vector<Outcome> outcomes;  // one for each property
  bool cut = false;               // stopped early: what was not asked is inconclusive
};

Judgement judge(const Case& c, std::span<const Property* const> properties, const Backend& backend,
                const Interposer* interposer);
// The same; `stopped` is asked before every property but the first.
Judgement judge(const Case& c, std::span<const Property* const> properties, const Backend& backend,
                const Interposer* interposer, const Stopped& stopped);

// The same backend, which runs with one thread wherever the number is left open.
std::unique_ptr<Backend> one_thread(const Backend& backend);

}  // namespace mla::prop
