#include "properties/claims/p44_close_bounds/error_plants.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/step/functions.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

constexpr int kPlanted = 4;  // dims of a pair with an error beyond the bound

// bf16 numbers in ascending order, and back.
std::int32_t place_of(std::uint16_t bits) {
  const std::int32_t magnitude = bits & 0x7FFF;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}
std::uint16_t bf16_at(std::int32_t place) {
  return static_cast<std::uint16_t>(place < 0 ? 0x8000 | -place : place);
}

// The last number of a format on the way from an exact value to its bound, and the next one.
template <class T>
struct Sides {
  T within{};
  T beyond{};
};

Sides<std::uint16_t> bf16_sides(double want, double bound, bool up) {
  const int step = up ? 1 : -1;
  const double limit = want + step * bound;
  std::int32_t place =
      place_of(bf16_from_float(static_cast<float>(limit), Bf16Rounding::nearest_even));
  const auto inside = [&](std::int32_t p) {
    return std::fabs(bf16_to_float(bf16_at(p)) - want) <= bound;
  };
  while (!inside(place) && (bf16_to_float(bf16_at(place)) - want) * step > 0) place -= step;
  while (inside(place + step)) place += step;
  return {bf16_at(place), bf16_at(place + step)};
}

Sides<float> f32_sides(double want, double bound, bool up) {
  const float end =
      up ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
  auto value = static_cast<float>(up ? want + bound : want - bound);
  const auto inside = [&](float x) { return std::fabs(x - want) <= bound; };
  while (!inside(value)) value = std::nextafter(value, -end);
  while (inside(std::nextafter(value, end))) value = std::nextafter(value, end);
  return {value, std::nextafter(value, end)};
}

struct PlantedRow {
  std::vector<std::uint16_t> out;
  std::vector<float> lse;
};

}  // namespace

std::optional<std::string> misjudged_error(const Subject& subject, const RowBounds& bounds,
                                           Random& random) {
  const std::size_t dims = bounds.out.size();
  cpu::ReferenceResult reference{{bounds.out.begin(), bounds.out.end()},
                                 {bounds.out_bound.begin(), bounds.out_bound.end()},
                                 {},
                                 {}};
  PlantedRow row;
  std::vector<std::uint16_t> beyond(dims);
  for (std::size_t d = 0; d < dims; ++d) {
    const Sides sides = bf16_sides(bounds.out[d], bounds.out_bound[d], random.below(2) == 0);
    row.out.push_back(sides.within);
    beyond[d] = sides.beyond;
  }
  float wrong_lse = 0;
  if (bounds.lse) {
    reference.lse = {*bounds.lse};
    reference.lse_bound = {*bounds.lse_bound};
    const Sides sides = f32_sides(*bounds.lse, *bounds.lse_bound, random.below(2) == 0);
    row.lse = {sides.within};
    wrong_lse = sides.beyond;
  }
  const Functions functions = functions_of(subject);
  const std::vector<Fault> faults;
  const auto verdict = [&](const PlantedRow& r) {
    return functions.compare_elements(
        {.out = r.out,
         .lse = r.lse,
         .faults = faults,
         .reference = reference,
         .requests = {},
         .heads = 1,
         .dims = static_cast<std::int64_t>(dims),
         .blame = [](std::int64_t, std::int64_t) { return std::vector<std::string>(); }});
  };
  if (const Outcome all = verdict(row); all.verdict != Verdict::pass)
    return "errors within their bounds are reported: " + all.message;
  const auto unreported = [&](const std::string& what, double got, double want, double bound) {
    return what + " is " + number_text(got) + " where the reference has " + number_text(want) +
           " and allows " + number_text(bound) + ", and the comparison reports nothing";
  };
  for (int i = 0; i < kPlanted; ++i) {
    const auto d = static_cast<std::size_t>(random.below(std::ssize(beyond)));
    PlantedRow wrong = row;
    wrong.out[d] = beyond[d];
    if (verdict(wrong).verdict == Verdict::pass)
      return unreported(say("dim ", d), bf16_to_float(beyond[d]), bounds.out[d],
                        bounds.out_bound[d]);
  }
  if (!bounds.lse) return std::nullopt;
  PlantedRow wrong = row;
  wrong.lse = {wrong_lse};
  if (verdict(wrong).verdict == Verdict::pass)
    return unreported("the LSE", wrong_lse, *bounds.lse, *bounds.lse_bound);
  return std::nullopt;
}

}  // namespace mla::prop
