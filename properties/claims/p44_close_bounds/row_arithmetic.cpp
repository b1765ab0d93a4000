#include "properties/claims/p44_close_bounds/row_arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/say.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

constexpr double kF32 = 0x1p-24;  // unit roundoff of f32
// Relative errors up to which a first order is nearly all: what it leaves out of
// (A + |O| e) / (1 - e), of d / (1 - d) and of (1 + merges)(1 + rounding) is below
// 8/7 * 8/7 * 9/8 - 1 = 0.47.
constexpr double kSmall = 0.125;
constexpr double kSlack = 1.5;
// The roundings of a sum are counted here without rounding up to whole steps.
constexpr double kLeast = 0.9;
// The reference is a float64: its own error is 2^-29 of a bound that is made of f32 roundings.
constexpr double kValueError = 1e-3;
// Below all that is not flushed; the terms for flushing are not worked out again.
constexpr double kFlushing = 1e-30;

struct RowSums {
  std::vector<double> out;         // O_d before its scale
  std::vector<double> conditions;  // sum of w_j (errors of key j) |v_jd| / W
  std::vector<double> largest;     // |v_jd| over all keys
  double lse = 0;
  double weight_error = 0;  // sum of w_j e_j / W
  double worst_error = 0;   // max e_j
  double lse_error = 0;     // of an LSE of parts
  double depth_error = 0;   // of a sum over the keys
  double shared = 0;        // relative, of all terms of an output
};

// Half of the smallest fp8 number: what a probability below the normal ones may lose.
double half_smallest_fp8(const RowArithmetic& a) {
  return a.arch == Arch::gfx942 ? 0x1p-11 : 0x1p-10;
}

// bf16 keeps 8 significant bits, fp8 4.
double weight_rounding(const RowArithmetic& a, double w) {
  if (!a.dtype.both(Dtype::fp8)) return 0x1p-8 * w;
  return std::max(0x1p-4 * w, std::min(half_smallest_fp8(a), w));
}

// Whatever the weights are, the output is a mean of the values; how much larger than the largest
// of them roundings may make it.
double mean_growth(const RowArithmetic& a, std::int64_t keys) {
  double mean = 1;
  if (a.dtype.both(Dtype::fp8))
    mean += 0x1p-4 + std::min(1.0, static_cast<double>(keys) * half_smallest_fp8(a));
  return mean * std::pow(1 + 0x1p-8, static_cast<double>(a.merges));
}

struct RowScores {
  std::vector<double> score, absolute;
  double most = -std::numeric_limits<double>::infinity();
  double largest = 0;
};

RowScores scores_of(const RowArithmetic& a, const RowKeys& keys, std::span<double> key,
                    std::span<double> value) {
  RowScores s;
  for (std::int64_t j = keys.first; j < keys.last; ++j) {
    keys.load(j, key, value);
    double sum = 0;
    double absolute = 0;
    for (std::size_t d = 0; d < keys.q.size(); ++d) {
      sum += keys.q[d] * key[d];
      absolute += std::fabs(keys.q[d] * key[d]);
    }
    s.score.push_back(a.score_scale * sum);
    s.absolute.push_back(std::fabs(a.score_scale) * absolute);
    s.most = std::max(s.most, s.score.back());
    s.largest = std::max(s.largest, std::fabs(s.score.back()));
  }
  return s;
}

// Roundings of a weight in units of f32: one for each product of the dot and two more; eight for
// the scale; two for the difference from the maximum; four for each exponential, of which there is
// one for every 16 keys and three more; sixteen of an LSE for each part.
RowSums sums_of(const RowArithmetic& a, const RowKeys& keys) {
  std::vector<double> key(keys.q.size());
  std::vector<double> value(static_cast<std::size_t>(keys.value_dims));
  const RowScores s = scores_of(a, keys, key, value);
  const auto n = static_cast<double>(keys.last - keys.first);
  const double length = static_cast<double>(keys.q.size());
  RowSums sums;
  sums.lse_error = 16 * kF32 * (s.largest + std::log(n) + 1) * static_cast<double>(a.merges + 1);
  // A tile, matrix steps of four keys, rescales of 16, pieces, and some more.
  sums.depth_error = kF32 * (std::min(n, 128.0) + n / 2 + n / 8 + 2 * std::min(n, 1024.0) + 8);
  sums.shared = sums.depth_error + sums.lse_error + static_cast<double>(a.merges) * 0x1p-8;
  sums.out.assign(value.size(), 0);
  sums.conditions.assign(value.size(), 0);
  sums.largest.assign(value.size(), 0);
  double weights = 0;
  for (std::int64_t j = 0; j < keys.all; ++j) {
    keys.load(j, key, value);
    for (std::size_t d = 0; d < value.size(); ++d)
      sums.largest[d] = std::max(sums.largest[d], std::fabs(value[d]));
    if (j < keys.first || j >= keys.last) continue;
    const auto i = static_cast<std::size_t>(j - keys.first);
    const double w = std::exp(s.score[i] - s.most);
    const double error = kF32 * ((length + 2) * s.absolute[i] + 8 * std::fabs(s.score[i]) +
                                 2 * (s.most - s.score[i]) + 4 * (std::ceil(n / 16) + 3)) +
                         2 * length * 0x1p-126 * std::fabs(a.score_scale) + sums.lse_error;
    weights += w;
    sums.weight_error += w * error;
    sums.worst_error = std::max(sums.worst_error, error);
    const double all = w * (error + sums.shared) + weight_rounding(a, w);
    for (std::size_t d = 0; d < value.size(); ++d) {
      sums.out[d] += w * value[d];
      sums.conditions[d] += all * std::fabs(value[d]);
    }
  }
  sums.weight_error /= weights;
  for (std::size_t d = 0; d < value.size(); ++d) {
    sums.out[d] /= weights;
    sums.conditions[d] /= weights;
  }
  sums.lse = s.most + std::log(weights);
  return sums;
}

std::string compared(const std::string& what, double bound, double second) {
  return what + " has the bound " + number_text(bound) + " where its roundings add up to " +
         number_text(second);
}

// `small`: the first order is nearly all. `flushed`: more than what flushing adds.
std::optional<std::string> against(const std::string& what, double bound, double second, bool small,
                                   double flushed) {
  if (bound > kSlack * second + flushed) return compared(what, bound, second);
  if (small && bound < kLeast * second - flushed) return compared(what, bound, second);
  return std::nullopt;
}

std::optional<std::string> wrong_lse_bound(const RowSums& sums, const RowBounds& bounds) {
  if (std::fabs(*bounds.lse - sums.lse) > kValueError * *bounds.lse_bound)
    return "the reference has the LSE " + number_text(*bounds.lse) + ", its keys have " +
           number_text(sums.lse);
  const double denominator = sums.weight_error + sums.depth_error;
  double second = sums.worst_error + 2 * sums.depth_error;
  if (denominator < kSmall) second = std::min(second, denominator);
  return against("the LSE", *bounds.lse_bound, second + sums.lse_error, denominator < kSmall,
                 kFlushing);
}

}  // namespace

RowBounds bounds_of(const cpu::ReferenceResult& reference, std::int64_t pair, std::int64_t dims) {
  const auto at = static_cast<std::size_t>(pair * dims);
  const auto size = static_cast<std::size_t>(dims);
  RowBounds bounds{std::span(reference.out).subspan(at, size),
                   std::span(reference.out_bound).subspan(at, size), std::nullopt, std::nullopt};
  if (reference.lse.empty()) return bounds;
  bounds.lse = reference.lse[static_cast<std::size_t>(pair)];
  bounds.lse_bound = reference.lse_bound[static_cast<std::size_t>(pair)];
  return bounds;
}

std::optional<std::string> wrong_bound(const RowArithmetic& a, const RowKeys& keys,
                                       const RowBounds& bounds) {
  const RowSums sums = sums_of(a, keys);
  if (bounds.lse)
    if (auto why = wrong_lse_bound(sums, bounds)) return why;
  if (sums.lse_error > kSmall) return std::nullopt;
  const double denominator = sums.weight_error + sums.depth_error;
  const bool small = denominator < kSmall && sums.worst_error < kSmall && sums.shared < kSmall;
  const double mean = mean_growth(a, keys.last - keys.first);
  const double scale = std::fabs(a.output_scale);
  // What is flushed before the scale is scaled with the rest.
  const double flushed = kFlushing * std::max(1.0, scale);
  for (std::size_t d = 0; d < sums.out.size(); ++d) {
    const double value = std::fabs(sums.out[d]);
    double error = value + mean * sums.largest[d];
    if (small) error = std::min(error, sums.conditions[d] + value * denominator);
    const double second =
        scale * (error + (8 * kF32 + a.output_unit) * value + a.output_unit * error);
    const std::string what = say("dim ", d);
    if (std::fabs(bounds.out[d] - a.output_scale * sums.out[d]) >
        kValueError * bounds.out_bound[d] + flushed)
      return "the reference has " + number_text(bounds.out[d]) + " in " + what +
             ", its keys have " + number_text(a.output_scale * sums.out[d]);
    if (auto why = against(what, bounds.out_bound[d], second, small, flushed)) return why;
  }
  return std::nullopt;
}

}  // namespace mla::prop
