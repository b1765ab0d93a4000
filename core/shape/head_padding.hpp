// HeadPadding: how the model's query heads become the heads a kernel takes, and back.
//
// Decided once and carried in the metadata: padding and un-padding that choose their own target
// return junk (BUG-035). Source: vllm #35850, #50578, #51647; spec vllm_metadata.md 1.9.
#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "core/units.hpp"

namespace mla {

enum class PadKind : std::uint8_t {
  none,    // model heads are kernel heads
  repeat,  // each head kernel/model times in a row; un-pad takes every (kernel/model)-th
  cyclic,  // padded head i is head i mod model; un-pad takes the first `model`
};

struct HeadPadding {
  Heads model{16};
  Heads kernel{16};
  PadKind kind = PadKind::none;

  // The model head that padded head `padded` is a copy of.
  [[nodiscard]] std::int64_t source(std::int64_t padded) const {
    switch (kind) {
      case PadKind::repeat:
        return padded / (kernel.count() / model.count());
      case PadKind::cyclic:
        return padded % model.count();
      case PadKind::none:
        break;
    }
    return padded;
  }
  // The padded head from which the result of model head `head` is taken.
  [[nodiscard]] std::int64_t position(std::int64_t head) const {
    return kind == PadKind::repeat ? head * (kernel.count() / model.count()) : head;
  }
  bool operator==(const HeadPadding&) const = default;
};

// Pads to `kernel` heads; by repetition when the model's count divides it, otherwise cyclically.
HeadPadding pad_heads_to(Heads model, Heads kernel);

// The padding of a rank with `model` heads: to the next multiple of 16, for 1 to 128 heads.
Result<HeadPadding> resolve_head_padding(Heads model);

}  // namespace mla
