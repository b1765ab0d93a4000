#include "cpu_backend/dense/error_model.hpp"

#include <algorithm>
#include <limits>

#include "core/numeric/fp8.hpp"
#include "core/units.hpp"

namespace mla::cpu {
namespace {

constexpr std::int64_t kLongestTile = 128;  // keys summed before a kernel rescales
constexpr std::int64_t kShortestTile = 16;
constexpr std::int64_t kMatrixGroup = 4;  // products that a matrix unit adds in one step, at least
constexpr std::int64_t kMostPieces = 1024;  // as many compute units as a case may name
constexpr double kExpUnit = 4 * kUnit;      // relative error of one exponential
constexpr double kFlushed = 0x1p-125;       // what underflow takes from a weight, at most

std::int64_t rescales(std::int64_t keys) {
  return ceil_div(keys, kShortestTile);
}
std::int64_t pieces(std::int64_t keys) {
  return std::min(keys, kMostPieces);
}

}  // namespace

double ErrorModel::sum_depth() const {
  // A tile from zero; a chain of matrix instructions, whose steps may truncate (two units each);
  // rescaling and adding every tile; weighing and adding every piece.
  const std::int64_t tile = std::min(keys, kLongestTile);
  const std::int64_t chain = 2 * ceil_div(keys, kMatrixGroup);
  return static_cast<double>(tile + chain + 2 * rescales(keys) + 2 * pieces(keys) + 4);
}

double ErrorModel::lse_rounding() const {
  const double one = 16 * kUnit * (largest_score + std::log(static_cast<double>(keys)) + 1);
  return static_cast<double>(bf16_merges + 1) * one;
}

KeyErrors::KeyErrors(const ErrorModel& model)
    : dot_(gamma(static_cast<double>(model.dot_length) + 2)),
      scale_(gamma(8)),
      centre_(gamma(2)),
      unit_(0x1p-8),
      half_smallest_(0),
      common_((1 + gamma(model.sum_depth())) * (1 + ErrorModel::relative(model.lse_rounding())) *
              model.merge_roundings()),
      flushed_(kFlushed) {
  const double exps = static_cast<double>(rescales(model.keys) + 3) * kExpUnit;
  const double flushed = 2 * static_cast<double>(model.dot_length) * 0x1p-126 * model.score_scale;
  fixed_ = exps / (1 - exps) + flushed + model.lse_rounding();
  if (model.dtype.both(Dtype::fp8)) {
    unit_ = kFp8UnitRoundoff;
    half_smallest_ = fp8_half_smallest(model.fp8) * common_;
  }
}

double ErrorModel::denominator_error(double mean_rel) const {
  const double sum = gamma(sum_depth());
  return mean_rel * (1 + sum) + sum + static_cast<double>(keys) * kFlushed;
}

double ErrorModel::output_bound(const Element& e, double denominator) const {
  const double value = std::fabs(e.value);
  double error = std::numeric_limits<double>::infinity();
  if (denominator < 1) error = (e.numerator + value * denominator) / (1 - denominator);
  // Whatever the weights are, the output is their mean of the values, up to the roundings of the
  // weights and of the sums. Every factor below is at least 1, so the cap is worth its logarithms
  // only for an error beyond value + largest_v.
  const double n = static_cast<double>(keys);
  if (error > value + e.largest_v) {
    const double rounding = dtype.both(Dtype::fp8)
                                ? kFp8UnitRoundoff + std::min(n * fp8_half_smallest(fp8), 1.0)
                                : 0x1p-8;
    const double sums = (1 + gamma(sum_depth())) / (1 - gamma(sum_depth()));
    const double mean =
        e.largest_v * (1 + rounding) * sums * (1 + relative(lse_rounding())) * merge_roundings();
    error = std::min(error, value + mean);
  }

  const double scaled = out_scale * (error + gamma(8) * (value + error));
  const double cast = output_unit * (out_scale * value + scaled);
  const double flushed = (2 * n + 4) * 0x1p-126 * std::max(1.0, out_scale);
  // The reference itself rounds: 2^-53 against 2^-24 in each of the terms above.
  return (scaled + cast) * (1 + 0x1p-20) + flushed;
}

double ErrorModel::lse_bound(double denominator, double largest_log_error) const {
  double error = largest_log_error + 2 * gamma(sum_depth());
  if (denominator < 1) error = std::min(error, -std::log1p(-denominator));
  return (error + lse_rounding()) * (1 + 0x1p-20);
}

}  // namespace mla::cpu
