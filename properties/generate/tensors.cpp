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

RowFormat query_format(const Case& c) {
  return {c.dtype.q, fp8_variant(c.arch), c.dtype.q == Dtype::fp8 ? c.decode().q_scale : 1.0F};
}
RowFormat key_format(const Case& c) {
  return {c.dtype.kv, fp8_variant(c.arch), c.dtype.kv == Dtype::fp8 ? c.decode().kv_scale : 1.0F};
}
std::size_t row_bytes(const RowFormat& format) {
  return static_cast<std::size_t>(kKeyDim * element_bytes(format.dtype));
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
  const RowFormat query = query_format(c);
  const RowFormat key = key_format(c);
  DecodeTensors t;
  t.softmax_scale = kSoftmaxScale;
  t.q_scale = query.scale;
  t.kv_scale = key.scale;
  t.q.resize(static_cast<std::size_t>(batch.rows().count() * c.heads) * row_bytes(query));
  for_each_query(c, batch, [&](std::size_t index, const RowId& id) {
    encoded_row(c.data, id, query, &t.q[index * row_bytes(query)]);
  });
  t.cache.dtype = c.dtype.kv;
  t.cache.first_slot = batch.first_block * batch.block_size;
  t.cache.slots = batch.cache_blocks * batch.block_size;
  t.cache.bytes.resize(static_cast<std::size_t>(t.cache.slots) * row_bytes(key));
  poison(t.cache, key.variant);
  for_each_key(c, batch, [&](std::int64_t slot, const RowId& id) {
    const auto index = static_cast<std::size_t>(slot - t.cache.first_slot);
    encoded_row(c.data, id, key, &t.cache.bytes[index * row_bytes(key)]);
  });
  return t;
}

std::int64_t saturated_elements(const Case& c, const Batch& batch) {
  std::int64_t count = 0;
  const auto count_in = [&](const RowId& id, const RowFormat& format) {
    if (format.dtype != Dtype::fp8) return;
    Values values;
    element_row(c.data, id, values);
    for (const float v : values)
      if (std::fabs(v / format.scale) > fp8_max(format.variant)) ++count;
  };
  const RowFormat query = query_format(c);
  const RowFormat key = key_format(c);
  for_each_query(c, batch, [&](std::size_t, const RowId& id) { count_in(id, query); });
  for_each_key(c, batch, [&](std::int64_t, const RowId& id) { count_in(id, key); });
  return count;
}

}  // namespace mla::prop
