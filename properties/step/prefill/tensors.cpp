#include "properties/step/prefill/tensors.hpp"

#include <algorithm>
#include <array>

#include "core/numeric/bf16.hpp"
#include "properties/generate/elements.hpp"
#include "properties/generate/tensors.hpp"

namespace mla::prop {
namespace {

using prefill::kQkDim;
using prefill::kVDim;

using Values = std::array<float, static_cast<std::size_t>(kDrawnDims)>;

void round_to(const float* from, std::int64_t count, std::uint16_t* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = bf16_from_float(from[i], Bf16Rounding::nearest_even);
}

}  // namespace

prefill::PrefillTensors make_prefill_tensors(const Case& c, const Batch& batch) {
  prefill::PrefillTensors t;
  t.heads = c.heads;
  t.softmax_scale = kSoftmaxScale;
  const auto pairs = static_cast<std::size_t>(batch.rows().count() * c.heads);
  t.q.resize(pairs * kQkDim);
  t.k.resize(pairs * kQkDim);
  t.v.resize(pairs * kVDim);
  t.cache.first_slot = batch.first_block * batch.block_size;
  t.cache.slots = batch.cache_blocks * batch.block_size;
  t.cache.bits.assign(static_cast<std::size_t>(t.cache.slots * c.heads * (kQkDim + kVDim)),
                      kPoisonBf16);
  const std::uint64_t shared_blocks = c.layout.kind == Layout::prefix ? c.layout.parameter : 0;
  Values values;
  std::int64_t row = 0;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const auto [q, n] = batch.requests[r];
    const auto request = static_cast<std::int64_t>(r);
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t h = 0; h < c.heads; ++h) {
        const bool shared = static_cast<std::uint64_t>(p / batch.block_size) < shared_blocks;
        element_row(c.data, {TensorId::key, shared ? kSharedRequest : request, p, h}, values);
        const std::int64_t pair = (row + p - (n - q)) * c.heads + h;
        if (p >= n - q) {
          round_to(values.data(), kQkDim, &t.k[static_cast<std::size_t>(pair * kQkDim)]);
          round_to(values.data() + kQkDim, kVDim, &t.v[static_cast<std::size_t>(pair * kVDim)]);
          continue;
        }
        const std::int64_t slot = batch.slot(request, p) - t.cache.first_slot;
        round_to(values.data(), kQkDim + kVDim,
                 &t.cache.bits[static_cast<std::size_t>((slot * c.heads + h) * (kQkDim + kVDim))]);
      }
    // Rows are named by their place among the keys, so that they, too, survive another cut.
    for (std::int64_t i = 0; i < q; ++i, ++row)
      for (std::int64_t h = 0; h < c.heads; ++h) {
        element_row(c.data, {TensorId::query, request, n - q + i, h}, values);
        round_to(values.data(), kQkDim,
                 &t.q[static_cast<std::size_t>((row * c.heads + h) * kQkDim)]);
      }
  }
  return t;
}

}  // namespace mla::prop
