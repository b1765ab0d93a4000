// Which numbers a kernel argument of 32 bits holds.
//
// AITER's own launches cut a larger one in silence, and the kernel reads another page (aiter#4427).
// Fails: unsupported, naming the argument and both factors.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "core/result.hpp"
#include "core/say.hpp"

namespace mla::hip::aiter {

// `what` is `count` times `each` (1 or more), as an argument of at most `most`.
[[nodiscard]] inline MaybeError fits_kernarg(
    std::string_view what, std::int64_t count, std::int64_t each,
    std::int64_t most = std::numeric_limits<std::uint32_t>::max()) {
  if (count >= 0 && count <= most / each) return std::nullopt;
  return Error{ErrorCode::unsupported,
               say(what, " is ", count, " times ", each,
                   "; AITER's kernels take it as a number of 32 bits, up to ", most)};
}

}  // namespace mla::hip::aiter
