// Architectures and element types: the closed vocabulary that every decision is made from.
//
// Owns: `Arch`, `Dtype`, `DtypePair`, `Fp8Variant`, and their names.
// Fails: name look-ups return nothing for an unknown name; there are no aliases (BUG-030).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/units.hpp"

namespace mla {

// MI300X, MI308 (gfx942) and MI355X (gfx950).
enum class Arch : std::uint8_t { gfx942, gfx950 };

// What a tensor holds. `fp8` is e4m3 in the variant of the architecture, see fp8_variant().
enum class Dtype : std::uint8_t { bf16, fp8 };

struct DtypePair {
  Dtype q = Dtype::bf16;
  Dtype kv = Dtype::bf16;
  [[nodiscard]] constexpr bool both(Dtype d) const { return q == d && kv == d; }
  [[nodiscard]] constexpr bool neither(Dtype d) const { return q != d && kv != d; }
  bool operator==(const DtypePair&) const = default;
};

// e4m3 with bias 8, NaN only at 0x80, largest 240 (FNUZ), or bias 7, largest 448 (OCP).
enum class Fp8Variant : std::uint8_t { e4m3fnuz, e4m3fn };

constexpr Fp8Variant fp8_variant(Arch arch) {
  return arch == Arch::gfx942 ? Fp8Variant::e4m3fnuz : Fp8Variant::e4m3fn;
}

constexpr std::int64_t element_bytes(Dtype d) {
  return d == Dtype::bf16 ? 2 : 1;
}

// Compute units of the product that carries the architecture: MI300X 304, MI355X 256.
constexpr ComputeUnits product_compute_units(Arch arch) {
  return ComputeUnits(arch == Arch::gfx942 ? 304 : 256);
}

constexpr std::string_view name(Arch arch) {
  return arch == Arch::gfx942 ? "gfx942" : "gfx950";
}
constexpr std::string_view name(Dtype d) {
  return d == Dtype::bf16 ? "bf16" : "fp8";
}
constexpr std::string_view name(Fp8Variant v) {
  return v == Fp8Variant::e4m3fnuz ? "e4m3fnuz" : "e4m3fn";
}

constexpr std::optional<Arch> arch_from_name(std::string_view text) {
  if (text == "gfx942") return Arch::gfx942;
  if (text == "gfx950") return Arch::gfx950;
  return std::nullopt;
}

constexpr std::optional<Dtype> dtype_from_name(std::string_view text) {
  if (text == "bf16") return Dtype::bf16;
  if (text == "fp8") return Dtype::fp8;
  return std::nullopt;
}

// Largest query head count of one rank that any kernel takes.
inline constexpr std::int64_t kMaxHeads = 128;

}  // namespace mla
