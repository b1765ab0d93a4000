// `mla-testbed time CASE --sweep`. Private to properties/cli.
#pragma once

#include <string>

#include "properties/step/verdict.hpp"

namespace mla::cli {

struct SweepOptions {
  std::string line;      // of a case
  std::string batches;   // numbers of requests; empty: those that are usual
  std::string contexts;  // keys of each; empty: likewise
  std::string html;      // empty: none
  std::string svg;       // empty: none
  bool json = false;
};

prop::ExitCode time_sweep(const SweepOptions& options);

}  // namespace mla::cli
