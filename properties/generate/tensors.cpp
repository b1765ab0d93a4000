#include "properties/generate/tensors.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "properties/generate/elements.hpp"

namespace mla::prop {
namespace {

using Values = std::array<float, static_cast<std::size_t>(kKeyDim)>;

// How elements of one tensor become bits.
class Encoding {
 public:
  Encoding(Dtype dtype, Fp8Variant variant, float scale)
      : dtype(dtype), variant(variant), scale(scale) {
    for (std::size_t i = 0; i < kNormalValues; ++i) normal_[i] = bits(normal_value(i));
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(kKeyDim * element_bytes(dtype));
  }

  // The row that `id` names.
  void encode(const DataSpec& data, const RowId& id, std::byte* out) const {
    std::array<std::uint16_t, std::tuple_size_v<Values>> row;
    if (data.kind == Distribution::normal) {
      normal_indices(data, id, row);
      for (std::uint16_t& element : row) element = normal_[element];
    } else {
      Values values;
      element_row(data, id, values);
      for (std::size_t d = 0; d < row.size(); ++d) row[d] = bits(values[d]);
    }
    if (dtype == Dtype::bf16) {
      std::memcpy(out, row.data(), sizeof row);
    } else {
      for (std::size_t d = 0; d < row.size(); ++d) out[d] = static_cast<std::byte>(row[d]);
    }
  }

  const Dtype dtype;
  const Fp8Variant variant;
  const float scale;

 private:
  [[nodiscard]] std::uint16_t bits(float value) const {
    return dtype == Dtype::bf16 ? bf16_from_float(value, Bf16Rounding::nearest_even)
                                : fp8_from_float(value / scale, variant);
  }
  std::array<std::uint16_t, kNormalValues> normal_{};
};

Encoding query_encoding(const Case& c) {
  return {c.dtype.q, fp8_variant(c.arch), c.dtype.q == Dtype::fp8 ? c.q_scale : 1.0F};
}
Encoding key_encoding(const Case& c) {
  return {c.dtype.kv, fp8_variant(c.arch), c.dtype.kv == Dtype::fp8 ? c.kv_scale : 1.0F};
}

// Calls visit(query row of the batch * heads + head, its name) for every row of Q.
template <class F>
void for_each_query(const Case& c, const Batch& batch, F visit) {
  std::size_t index = 0;
  for (std::size_t r = 0; r < batch.requests.size(); ++r)
    for (std::int64_t i = 0; i < batch.requests[r].qo_len; ++i)
      for (std::int64_t h = 0; h < c.heads; ++h)
        visit(index++, RowId{TensorId::query, static_cast<std::int64_t>(r), i, h});
}

// Calls visit(slot, its name) for every key of every request; a shared key comes once for each
// owner.
template <class F>
void for_each_key(const Case& c, const Batch& batch, F visit) {
  const std::uint64_t shared_blocks = c.layout.kind == Layout::prefix ? c.layout.parameter : 0;
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(batch.requests.size()); ++r)
    for (std::int64_t p = 0; p < batch.requests[static_cast<std::size_t>(r)].kv_len; ++p) {
      const bool shared = static_cast<std::uint64_t>(p / batch.block_size) < shared_blocks;
      visit(batch.slot(r, p), RowId{TensorId::key, shared ? kSharedRequest : r, p, 0});
    }
}

void poison(KvCache& cache, Fp8Variant variant) {
  if (cache.dtype == Dtype::fp8) {
    std::memset(cache.bytes.data(), fp8_nan(variant), cache.bytes.size());
    return;
  }
  for (std::size_t i = 0; i < cache.bytes.size(); i += sizeof kPoisonBf16)
    std::memcpy(&cache.bytes[i], &kPoisonBf16, sizeof kPoisonBf16);
}

}  // namespace

DecodeTensors make_tensors(const Case& c, const Batch& batch) {
  const Encoding query = query_encoding(c);
  const Encoding key = key_encoding(c);
  DecodeTensors t;
  t.softmax_scale = kSoftmaxScale;
  t.q_scale = query.scale;
  t.kv_scale = key.scale;
  t.q.resize(static_cast<std::size_t>(batch.rows().count() * c.heads) * query.row_bytes());
  for_each_query(c, batch, [&](std::size_t index, const RowId& id) {
    query.encode(c.data, id, &t.q[index * query.row_bytes()]);
  });
  t.cache.dtype = c.dtype.kv;
  t.cache.first_slot = batch.first_block * batch.block_size;
  t.cache.slots = batch.cache_blocks * batch.block_size;
  t.cache.bytes.resize(static_cast<std::size_t>(t.cache.slots) * key.row_bytes());
  poison(t.cache, key.variant);
  for_each_key(c, batch, [&](std::int64_t slot, const RowId& id) {
    const auto index = static_cast<std::size_t>(slot - t.cache.first_slot);
    key.encode(c.data, id, &t.cache.bytes[index * key.row_bytes()]);
  });
  return t;
}

std::int64_t saturated_elements(const Case& c, const Batch& batch) {
  std::int64_t count = 0;
  const auto count_in = [&](const RowId& id, const Encoding& encoding) {
    if (encoding.dtype != Dtype::fp8) return;
    Values values;
    element_row(c.data, id, values);
    for (const float v : values)
      if (std::fabs(v / encoding.scale) > fp8_max(encoding.variant)) ++count;
  };
  const Encoding query = query_encoding(c);
  const Encoding key = key_encoding(c);
  for_each_query(c, batch, [&](std::size_t, const RowId& id) { count_in(id, query); });
  for_each_key(c, batch, [&](std::int64_t, const RowId& id) { count_in(id, key); });
  return count;
}

}  // namespace mla::prop
