// RowWidths: how wide a row of the latent cache is, and which of its elements are values.
//
// Absorbed MLA decode (DeepSeek-V2, arXiv 2405.04434): all heads share a cached row, which is a
// latent part and then a rope part. A key is the whole row, a value its first elements: the latent
// part, or more of it (DeepSeek-V4 attends to the whole row of 448 + 64). Decided once, where a
// case, a bundle or a tensor is read, and carried from there. Units: elements, each part a type of
// its own. Fails: of() with the sentence that names the width.
#pragma once

#include <cstdint>
#include <string>

#include "core/arch.hpp"
#include "core/units.hpp"

namespace mla {

using LatentDims = Unit<struct LatentDimsTag>;
using RopeDims = Unit<struct RopeDimsTag>;
using KeyDims = Unit<struct KeyDimsTag>;      // of a row of Q or of the cache: latent and rope
using ValueDims = Unit<struct ValueDimsTag>;  // of a row of the output

// The widest row that any step has: DeepSeek-V3's.
inline constexpr std::int64_t kMostKeyDims = 576;
inline constexpr std::int64_t kMostValueDims = 512;

class RowWidths {
 public:
  constexpr RowWidths() = default;  // 512 + 64, values of 512
  constexpr RowWidths(LatentDims latent, RopeDims rope, ValueDims value)
      : latent_(latent), rope_(rope), value_(value) {}
  // Of tensors, which do not say where the latent part ends: with the values, as in absorbed MLA.
  constexpr RowWidths(KeyDims key, ValueDims value)
      : RowWidths(LatentDims(value.count()), RopeDims(key.count() - value.count()), value) {}

  [[nodiscard]] constexpr LatentDims latent() const { return latent_; }
  [[nodiscard]] constexpr RopeDims rope() const { return rope_; }
  [[nodiscard]] constexpr ValueDims value() const { return value_; }
  [[nodiscard]] constexpr KeyDims key() const { return KeyDims(latent_.count() + rope_.count()); }
  [[nodiscard]] constexpr std::int64_t key_bytes(Dtype dtype) const {
    return key().count() * element_bytes(dtype);
  }
  // Whether kernels with 512 + 64 built in take such rows: where the latent part ends is nothing
  // that a kernel sees.
  [[nodiscard]] constexpr bool same_tensors(const RowWidths& other) const {
    return key() == other.key() && value_ == other.value_;
  }
  constexpr bool operator==(const RowWidths&) const = default;

 private:
  LatentDims latent_{512};
  RopeDims rope_{64};
  ValueDims value_{512};
};

// What AITER's MLA kernels and the HIP kernels of this project have built in.
inline constexpr RowWidths kBuiltIn{};

// "512 + 64", and "448 + 64 with values of 512" where these are not the latent part.
std::string text_of(const RowWidths& widths);
// Why nothing has such rows; empty if they are possible.
std::string impossible(const RowWidths& widths);
// Why a kernel with kBuiltIn does not take them; empty if it does. `kernels` are named so.
std::string not_built_in(const RowWidths& widths, std::string_view kernels);

}  // namespace mla
