// Counts as types, where one argument list holds several: rows, requests, heads, compute units.
//
// `Unit<Tag>` is a signed 64-bit count that converts to nothing by itself; inner loops unwrap it
// once with `count()`. Records that lie in memory as AITER reads them (PlanInput, WorkItem) and the
// fields of a case line are plain numbers, whose unit stands beside them. Arithmetic that overflows
// 64 bits is a bug of the caller.
#pragma once

#include <compare>
#include <cstdint>

namespace mla {

template <class Tag>
class Unit {
 public:
  constexpr Unit() = default;
  constexpr explicit Unit(std::int64_t count) : count_(count) {}
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Unit&) const = default;
  constexpr Unit& operator+=(Unit other) { return count_ += other.count_, *this; }
  constexpr Unit& operator-=(Unit other) { return count_ -= other.count_, *this; }
  friend constexpr Unit operator+(Unit a, Unit b) { return Unit(a.count_ + b.count_); }
  friend constexpr Unit operator-(Unit a, Unit b) { return Unit(a.count_ - b.count_); }
  friend constexpr Unit operator*(Unit a, std::int64_t k) { return Unit(a.count_ * k); }

 private:
  std::int64_t count_ = 0;
};

using Rows = Unit<struct RowsTag>;                  // query tokens, over all requests of a batch
using Requests = Unit<struct RequestsTag>;          // entries of a batch
using Tokens = Unit<struct TokensTag>;              // cached keys
using Heads = Unit<struct HeadsTag>;                // query heads of one rank
using ComputeUnits = Unit<struct ComputeUnitsTag>;  // persistent workgroups the device runs at once

// Smallest integer not below a/b, for a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return ceil_div(a, b) * b;
}
constexpr bool is_power_of_two(std::int64_t a) {
  return a > 0 && (a & (a - 1)) == 0;
}

}  // namespace mla
