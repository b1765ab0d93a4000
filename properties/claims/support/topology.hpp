// Topology: into which pieces each query row's keys are cut.
//
// Two runs in which a row has the same pieces must agree in every bit; with other pieces only
// within the rounding bounds. Units: kernel rows, pages counted from the first page of the request.
// A record that names no request has no pieces.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/engine/decode_metadata.hpp"

namespace mla::prop {

struct Topology {
  // For each query row: page ranges in the order of the plan; for the split route the number of
  // splits and their granularity.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> pieces;
};

Topology topology_of(const DecodeMetadata& metadata);

}  // namespace mla::prop
