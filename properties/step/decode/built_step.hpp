// BuiltStep: what one build of a decode step left, and how it differs from a build in fresh
// buffers.
//
// The index arrays of a metadata record are views, so a step is copied out before the next one is
// built in the same buffers. P03 and the fuzz target `builder` compare with this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/decode_builder.hpp"

namespace mla::prop {

struct BuiltStep {
  DecodeBuffers buffers;       // whole, with tails
  std::size_t live_pages = 0;  // entries of kv_indices in use
  std::optional<plan::Plan> plan;
  std::vector<std::int64_t> kv_lens;
  std::vector<RowRange> keyless;
  bool persistent = false;
};

BuiltStep built_step(DecodeMetadata metadata, const DecodeBuffers& buffers);

// The first difference, with both values; nothing if there is none. `used` may have longer buffers.
std::optional<std::string> difference(const BuiltStep& used, const BuiltStep& fresh);

}  // namespace mla::prop
