// Damage: in which ways the result of a launch is wrong, told apart so that a known defect does
// not hide another one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/say.hpp"

namespace mla::prop {

enum class Damage : std::uint8_t {
  unwritten,  // an element that the CPU backend writes still holds the poison
  nan,        // NaN or infinity where the CPU backend has a number
  value,      // an element is off by more than the bounds allow, or has no business there
  fault,      // the backend reports a fault: an access or a write that no launch makes
  refused,    // the launch returned an error instead of a result
  claim,      // every launch was right, or there was none, and the property failed
  keyless,    // an element differs of a row that sees no key, though its request has some
};
inline constexpr std::array<std::string_view, 7> kDamageNames = {
    "unwritten", "nan", "value", "fault", "refused", "claim", "keyless"};

class DamageSet {
 public:
  constexpr DamageSet() = default;
  constexpr DamageSet(Damage one) { add(one); }  // NOLINT(google-explicit-constructor)
  constexpr void add(Damage damage) { bits_ |= bit(damage); }
  constexpr void add(DamageSet other) { bits_ |= other.bits_; }
  [[nodiscard]] constexpr bool has(Damage damage) const { return (bits_ & bit(damage)) != 0; }
  [[nodiscard]] constexpr bool none() const { return bits_ == 0; }
  [[nodiscard]] constexpr bool meets(DamageSet other) const { return (bits_ & other.bits_) != 0; }
  [[nodiscard]] constexpr bool within(DamageSet other) const { return (bits_ & ~other.bits_) == 0; }

 private:
  static constexpr unsigned bit(Damage damage) { return 1U << static_cast<unsigned>(damage); }
  unsigned bits_ = 0;
};

inline std::optional<Damage> damage_from_name(std::string_view text) {
  for (std::size_t i = 0; i < kDamageNames.size(); ++i)
    if (kDamageNames[i] == text) return static_cast<Damage>(i);
  return std::nullopt;
}

// "nan and value"
inline std::string text_of(DamageSet set) {
  std::string out;
  for (std::size_t i = 0; i < kDamageNames.size(); ++i)
    if (set.has(static_cast<Damage>(i))) out += say(out.empty() ? "" : " and ", kDamageNames[i]);
  return out;
}

}  // namespace mla::prop
