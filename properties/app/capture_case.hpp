// A case of ours as an engine would have dumped it.
#pragma once

#include "core/case/case.hpp"
#include "core/engine/backend.hpp"
#include "core/result.hpp"
#include "properties/dump/read/bundle.hpp"
#include "properties/step/context.hpp"

namespace mla::app {

// With the result of `backend`; the hooks outlive the call. Fails: a case whose engine pads or cuts
// up requests before the kernel sees them.
Result<dump::Bundle> capture_case(const Case& c, const Backend& backend,
                                  const prop::Interposer& hooks);

}  // namespace mla::app
