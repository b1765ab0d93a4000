// Elements of a row of 512 + 64, which most tests are about, as plain numbers.
#pragma once

#include "core/row_widths.hpp"

namespace mla {

inline constexpr std::int64_t kLatentDim = kBuiltIn.latent().count();
inline constexpr std::int64_t kRopeDim = kBuiltIn.rope().count();
inline constexpr std::int64_t kKeyDim = kBuiltIn.key().count();
inline constexpr std::int64_t kValueDim = kBuiltIn.value().count();

}  // namespace mla
