// A counted fuzz run: a number of inputs for each target, in this process and in every build.
//
// What is tried depends on corpus, seed and number alone, not on what was found: so it can be
// split, continued and merged. Private to properties/cli. Fails: it prints why and gives the exit
// code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "properties/app/fuzz_inputs.hpp"
#include "properties/cli/record_options.hpp"

namespace mla::cli {

struct CountedFuzz : RecordOptions {
  std::vector<std::string> targets;
  std::string cases;   // made inputs of each target, beside its corpus
  std::string number;  // only this input
};

// What a target is given: by its name and the seed.
using InputsOf = std::function<Result<app::FuzzInputs>(const std::string&, std::uint64_t)>;

prop::ExitCode fuzz_counted(const CountedFuzz& options, const InputsOf& inputs_of);

}  // namespace mla::cli
