// A prefill launch is data, and so is its result.
//
// Tensors are bf16 bits, expanded to heads: the up-projection of latent rows is no part of the
// step. Layouts, row-major: q and k [rows, model heads, kQkDim], v and out [rows, model heads,
// kVDim], lse [rows, model heads] f32, natural log; a cached row [model heads, kQkDim + kVDim]
// holds the key and the value of each head. A result is complete when the stream has run.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/prefill/prefill_metadata.hpp"

namespace mla::prefill {

// Keys and values of the context in their blocks. Slots outside [first_slot, first_slot + slots)
// are not backed, slots that no request owns hold NaN.
struct ContextCache {
  std::int64_t first_slot = 0;
  std::int64_t slots = 0;
  std::vector<std::uint16_t> bits;
};

struct PrefillTensors {
  std::int64_t heads = 0;  // of the model
  std::vector<std::uint16_t> q, k, v;
  ContextCache cache;
  float softmax_scale = 0;
};

struct PrefillLaunch {
  const PrefillMetadata& metadata;
  const PrefillTensors& tensors;
};

struct PrefillResult {
  std::vector<std::uint16_t> out;
  std::vector<float> lse;
  std::vector<Fault> faults;
  Launches launches;
  MaybeError no_result = {};  // why a launch was refused or broke; the rest is meaningless then
};

}  // namespace mla::prefill
