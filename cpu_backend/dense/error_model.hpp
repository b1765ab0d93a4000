// ErrorModel: how far a kernel's row may be from the exact one, term by term.
//
// Holds the roundoffs of one launch (formats, rounding modes, lengths); docs/reference/numerics.md
// derives every term under the heading named beside it. u = 2^-24 is the unit roundoff of f32, and
// gamma(k) = k*u / (1 - k*u) bounds k roundings in a row (N. Higham, Accuracy and Stability of
// Numerical Algorithms, lemma 3.1): no term is first-order only. A bound may be
// infinite.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/arch.hpp"

namespace mla::cpu {

inline constexpr double kUnit = 0x1p-24;

constexpr double gamma(double k) {
  return k * kUnit / (1 - k * kUnit);
}

struct ErrorModel {
  DtypePair dtype;
  Fp8Variant fp8 = Fp8Variant::e4m3fn;
  double out_scale = 1;    // |kv_scale|
  double score_scale = 1;  // |c|, what a product of Q and a key is multiplied with
  double output_unit = 0;  // unit roundoff of the final cast: the worse one of stage 1 and reduce
  std::int64_t dot_length = 0;   // products of a score
  std::int64_t bf16_merges = 0;  // of finished parts of the row, each rounded to bf16 (see below)
  std::int64_t keys = 0;         // visible to the row
  double largest_score = 0;      // max |s_j| over them

  // "Sums over keys": roundings between the first product and the merged output.
  [[nodiscard]] double sum_depth() const;
  // "LSE": absolute error of an LSE, of a difference of two, or of the logarithm of a merge. Merges
  // one after the other add theirs: the LSE after the first k has k + 1 of these errors, and the
  // weights of a chain of merges telescope to a difference of two such LSE.
  [[nodiscard]] double lse_rounding() const;
  // "Weights": the relative error that follows, e^d - 1.
  [[nodiscard]] static double relative(double d) { return d < 0.5 ? d / (1 - d) : std::expm1(d); }
  // "Merges": a part passes at most one rounding to bf16 for each merge before the final one, and
  // all its terms share it.
  [[nodiscard]] double merge_roundings() const {
    return bf16_merges == 0 ? 1 : std::pow(1 + 0x1p-8, static_cast<double>(bf16_merges));
  }
  // "Denominator": relative error of the sum of weights, from the weighted mean of their errors.
  [[nodiscard]] double denominator_error(double mean_rel) const;

  struct Element {
    double value = 0;      // exact output before the cache scale: N / W
    double numerator = 0;  // error of N, divided by W
    double largest_v = 0;  // max |v_jd| over the keys
  };
  // "Output": bound on the error of one element of the final bf16 output.
  [[nodiscard]] double output_bound(const Element& e, double denominator) const;
  // "LSE": bound on the error of the row's LSE.
  [[nodiscard]] double lse_bound(double denominator, double largest_log_error) const;
};

// The errors of a row's keys, from what they have in common. A row has thousands of keys, and the
// logarithm and the divisions in these terms once.
class KeyErrors {
 public:
  // `model` has the keys and the largest score of the row.
  explicit KeyErrors(const ErrorModel& model);
  // "Scores": bound on |ln(computed weight / exact weight)|, for score `s`, the same with absolute
  // values `s_abs`, and the row's maximum `m`.
  [[nodiscard]] double log_weight(double s, double s_abs, double m) const {
    return dot_ * s_abs + scale_ * std::fabs(s) + centre_ * (m - s) + fixed_;
  }
  // "Numerator": what |v_j| is multiplied with, for weight w = e^(s - m) of relative error `rel`.
  [[nodiscard]] double numerator(double w, double rel) const {
    const double computed = w * (1 + rel);
    const double rounding = std::max(unit_ * computed, std::min(half_smallest_, computed));
    return (computed + rounding) * common_ - w + flushed_;
  }

 private:
  double dot_;
  double scale_;
  double centre_;
  double fixed_;  // exponentials, the LSE of pieces, flushed sums
  double unit_;
  double half_smallest_;
  double common_;
  double flushed_;
};

}  // namespace mla::cpu
