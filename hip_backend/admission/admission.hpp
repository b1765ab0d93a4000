// Admission: which works and merges of a launch may run on a device that forgives nothing.
//
// Units: kernel rows, pages, tokens. What is wrong is in `faults`.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/backend.hpp"

namespace mla::hip {

struct Admission {
  std::vector<std::uint8_t> skip;       // [works], or [requests * splits] on the split route
  std::vector<std::uint8_t> skip_slot;  // [slots]
  std::vector<std::uint8_t> skip_tile;  // [tiles of the reduce], or [requests]
  std::int64_t partial_rows = 0;        // of the partial buffers that some work or merge names
  std::int64_t longest = 0;             // kernel rows of the longest admitted work
  std::int64_t longest_tile = 0;        // kernel rows of the longest admitted merge
  std::vector<Footprint> footprint;     // of the admitted works, by work
  std::vector<Fault> faults;
  bool as_planned = false;  // nothing was looked at, and everything runs
};

struct AdmissionInput {
  const DecodeMetadata& metadata;
  const KvCache& cache;
  std::int64_t kernel_rows = 0;
  std::int64_t fold = 1;
};

}  // namespace mla::hip
