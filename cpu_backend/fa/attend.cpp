#include "cpu_backend/fa/attend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/numeric/bf16.hpp"

namespace mla::cpu {
namespace {

constexpr std::int64_t kTile = 64;  // keys summed from zero
constexpr std::size_t kLanes = 16;  // partial sums of a dot product; heads are multiples of it

float dot(const float* a, const float* b, std::size_t n) {
  float sums[kLanes] = {};
  for (std::size_t d = 0; d < n; d += kLanes)
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] += a[d + i] * b[d + i];
  float total = 0;
  for (const float s : sums) total += s;
  return total;
}

}  // namespace

void HeadKeys::add(const std::uint16_t* key, const std::uint16_t* value) {
  for (std::size_t d = 0; d < dim_; ++d) keys_.push_back(bf16_to_float(key[d]));
  for (std::size_t d = 0; d < dim_; ++d) values_.push_back(bf16_to_float(value[d]));
}

float RowAttention::run(const std::uint16_t* q, const HeadKeys& keys, KeyRange range) {
  std::fill(out_.begin(), out_.end(), 0.0F);
  if (range.first >= range.last) return -std::numeric_limits<float>::infinity();
  for (std::size_t d = 0; d < q_.size(); ++d) q_[d] = bf16_to_float(q[d]);
  scores_.clear();
  float maximum = -std::numeric_limits<float>::infinity();
  for (std::int64_t j = range.first; j < range.last; ++j) {
    scores_.push_back(shape_.softmax_scale * dot(q_.data(), keys.key(j), q_.size()));
    maximum = std::fmax(maximum, scores_.back());
  }
  float sum = 0;
  for (std::int64_t tile = range.first; tile < range.last; tile += kTile) {
    std::fill(tile_.begin(), tile_.end(), 0.0F);
    float tile_sum = 0;
    for (std::int64_t j = tile; j < std::min(tile + kTile, range.last); ++j) {
      const float p = std::exp(scores_[static_cast<std::size_t>(j - range.first)] - maximum);
      tile_sum += p;
      const float weight = bf16_to_float(bf16_from_float(p, Bf16Rounding::nearest_even));
      const float* value = keys.value(j);
      for (std::size_t d = 0; d < tile_.size(); ++d) tile_[d] += weight * value[d];
    }
    sum += tile_sum;
    for (std::size_t d = 0; d < out_.size(); ++d) out_[d] += tile_[d];
  }
  for (float& value : out_) value /= sum;
  return maximum + std::log(sum);
}

}  // namespace mla::cpu
