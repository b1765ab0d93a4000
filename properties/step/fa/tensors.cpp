#include "properties/step/fa/tensors.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/numeric/bf16.hpp"
#include "properties/generate/elements.hpp"

namespace mla::prop {
namespace {

using fa::CachePlane;

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// The first elements of a drawn row; after them lie elements of no head, folded onto it so that a
// one-hot row keeps its one.
void head_row(const DataSpec& data, const RowId& id, std::int64_t dim, std::uint16_t* out) {
  std::array<float, static_cast<std::size_t>(kDrawnDims)> values{};
  element_row(data, id, values);
  if (data.kind == Distribution::onehot)
    for (std::int64_t d = dim; d < kDrawnDims; ++d) values[size(d % dim)] += values[size(d)];
  for (std::int64_t d = 0; d < dim; ++d)
    out[d] = bf16_from_float(values[size(d)], Bf16Rounding::nearest_even);
}

class Draw {
 public:
  Draw(const Case& c, const fa::OrderedBatch& ordered, const fa::Layer& layer)
      : case_(c), ordered_(ordered), layer_(layer) {}

  void query(std::int64_t request, std::int64_t row, std::uint16_t* out) const {
    for (std::int64_t h = 0; h < layer_.heads.count(); ++h)
      head_row(case_.data, {TensorId::query, origin(request), row, h}, layer_.head_dim,
               out + h * layer_.head_dim);
  }

  // All KV heads of a key or value. A position in a shared block is the same for all its owners.
  void token(CachePlane plane, std::int64_t request, std::int64_t position,
             std::uint16_t* out) const {
    const bool prefix = case_.layout.kind == Layout::prefix;
    const bool shared =
        prefix && static_cast<std::uint64_t>(position / layer_.block_size) < case_.layout.parameter;
    const std::int64_t values = plane == CachePlane::values ? layer_.kv_heads.count() : 0;
    for (std::int64_t h = 0; h < layer_.kv_heads.count(); ++h)
      head_row(case_.data,
               {TensorId::key, shared ? kSharedRequest : origin(request), position, values + h},
               layer_.head_dim, out + h * layer_.head_dim);
  }

 private:
  [[nodiscard]] std::int64_t origin(std::int64_t request) const {
    return ordered_.origin[size(request)];
  }
  const Case& case_;
  const fa::OrderedBatch& ordered_;
  const fa::Layer& layer_;
};

}  // namespace

fa::Tensors make_fa_tensors(const Case& c, const fa::OrderedBatch& ordered,
                            const fa::Layer& layer) {
  const Batch& batch = ordered.batch;
  const Draw draw(c, ordered, layer);
  const std::int64_t q_row = layer.heads.count() * layer.head_dim;
  const std::int64_t kv_row = layer.kv_heads.count() * layer.head_dim;
  fa::Tensors t;
  t.softmax_scale = 1.0F / std::sqrt(static_cast<float>(layer.head_dim));
  t.first_block = batch.first_block;
  t.blocks = batch.cache_blocks;
  t.q.resize(size(batch.rows().count() * q_row));
  t.k.resize(size(batch.rows().count() * kv_row));
  t.v.resize(t.k.size());
  t.cache.assign(size(2 * t.blocks * layer.block_size * kv_row), kPoisonBf16);
  const auto cached = [&](CachePlane plane, std::int64_t slot) {
    const std::int64_t values = plane == CachePlane::values ? t.blocks * layer.block_size : 0;
    return &t.cache[size((values + slot - t.first_block * layer.block_size) * kv_row)];
  };
  std::int64_t row = 0;
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(batch.requests.size()); ++r) {
    const auto [q, n] = batch.requests[size(r)];
    for (std::int64_t p = 0; p < n - q; ++p)
      for (const CachePlane plane : {CachePlane::keys, CachePlane::values})
        draw.token(plane, r, p, cached(plane, batch.slot(r, p)));
    for (std::int64_t i = 0; i < q; ++i, ++row) {
      draw.query(r, i, &t.q[size(row * q_row)]);
      draw.token(CachePlane::keys, r, n - q + i, &t.k[size(row * kv_row)]);
      draw.token(CachePlane::values, r, n - q + i, &t.v[size(row * kv_row)]);
    }
  }
  return t;
}

}  // namespace mla::prop
