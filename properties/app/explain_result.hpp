// Which scale explains a wrong result of an engine.
//
// The step is computed again with scales that are often taken by mistake. Steps that are too large
// for that are left alone.
#pragma once

#include <optional>
#include <string>

#include "core/engine/backend.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/dump/replay/step.hpp"

namespace mla::app {

// A sentence that names the scale with which every element is within its bound; nothing if none of
// those that are tried is it. An LSE is judged where the result has one.
std::optional<std::string> explaining_scale(const dump::CapturedStep& step,
                                            const DecodeResult& result);

}  // namespace mla::app
