// Fuzz targets: from bytes to a claim that must hold, or an input that must be refused in words.
//
// One list serves the plain replayer, libFuzzer and `mla-testbed fuzz`. A target says what it
// found; it never aborts itself. Inputs decode to valid cases as well as to hostile ones; both are
// of a size that a run of a few microseconds takes. Crashes are what fuzzing is for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "properties/fuzz/byte_choices.hpp"

namespace mla::prop::fuzz {

struct Finding {
  std::string input;  // the case line, or what the bytes stand for
  std::string what;   // the violated claim, with values
};

struct Target {
  std::string_view name;
  std::string_view sentence;  // what holds for every input
  std::optional<Finding> (*run)(Bytes bytes);
};

std::span<const Target> all_targets();
const Target* find_target(std::string_view name);

// The targets, by room.
std::optional<Finding> fuzz_line(Bytes bytes);
std::optional<Finding> fuzz_batch(Bytes bytes);
std::optional<Finding> fuzz_builder(Bytes bytes);
std::optional<Finding> fuzz_planners(Bytes bytes);
std::optional<Finding> fuzz_prefill_planner(Bytes bytes);
std::optional<Finding> fuzz_capture(Bytes bytes);
std::optional<Finding> fuzz_code_object(Bytes bytes);

}  // namespace mla::prop::fuzz
