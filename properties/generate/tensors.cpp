#include "properties/generate/tensors.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "core/large_pages.hpp"
#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "properties/generate/elements.hpp"

namespace mla::prop {
namespace {

using Values = std::array<float, static_cast<std::size_t>(kKeyDim)>;

RowFormat query_format(const TensorSpec& spec) {
  return {spec.dtype.q, spec.variant, spec.q_scale};
}
RowFormat key_format(const TensorSpec& spec) {
  return {spec.dtype.kv, spec.variant, spec.kv_scale};
}
std::size_t row_bytes(const RowFormat& format) {
  return static_cast<std::size_t>(kKeyDim * element_bytes(format.dtype));
}

// Calls visit(query row of the batch * heads + head, its name) for every row of Q.
template <class F>
void for_each_query(const TensorSpec& spec, F visit) {
  std::size_t index = 0;
  for (std::size_t r = 0; r < spec.requests.size(); ++r)
    for (std::int64_t i = 0; i < spec.requests[r].qo_len; ++i)
      for (std::int64_t h = 0; h < spec.heads; ++h)
        visit(index++, RowId{TensorId::query, static_cast<std::int64_t>(r), i, h});
}

// Calls visit(slot from the cache's first one, its name) for every key of every request; a shared
// key comes once for each owner.
template <class F>
void for_each_key(const TensorSpec& spec, F visit) {
  for (std::size_t r = 0; r < spec.requests.size(); ++r) {
    const std::int32_t* blocks = &spec.block_table[r * static_cast<std::size_t>(spec.columns)];
    for (std::int64_t p = 0; p < spec.requests[r].kv_len; ++p) {
      const std::int64_t block = p / spec.block_size;
      const bool shared = static_cast<std::uint64_t>(block) < spec.shared_blocks;
      const std::int64_t owner = shared ? kSharedRequest : static_cast<std::int64_t>(r);
      visit((blocks[block] - spec.first_block) * spec.block_size + p % spec.block_size,
            RowId{TensorId::key, owner, p, 0});
    }
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

TensorSpec tensor_spec(const Case& c, const Batch& batch) {
  return {.dtype = c.dtype,
          .variant = fp8_variant(c.arch),
          .q_scale = c.dtype.q == Dtype::fp8 ? c.decode().q_scale : 1.0F,
          .kv_scale = c.dtype.kv == Dtype::fp8 ? c.decode().kv_scale : 1.0F,
          .heads = c.heads,
          .data = c.data,
          .requests = batch.requests,
          .shared_blocks = c.layout.kind == Layout::prefix ? c.layout.parameter : 0,
          .block_size = batch.block_size,
          .block_table = batch.block_table,
          .columns = batch.columns,
          .first_block = batch.first_block,
          .cache_blocks = batch.cache_blocks};
}

DecodeTensors make_tensors(const TensorSpec& spec) {
  const RowFormat query = query_format(spec);
  const RowFormat key = key_format(spec);
  std::int64_t rows = 0;
  for (const RequestSpec& r : spec.requests) rows += r.qo_len;
  DecodeTensors t;
  t.softmax_scale = kSoftmaxScale;
  t.q_scale = query.scale;
  t.kv_scale = key.scale;
  t.q.resize(static_cast<std::size_t>(rows * spec.heads) * row_bytes(query));
  for_each_query(spec, [&](std::size_t index, const RowId& id) {
    encoded_row(spec.data, id, query, &t.q[index * row_bytes(query)]);
  });
  t.cache.dtype = key.dtype;
  t.cache.first_slot = spec.first_block * spec.block_size;
  t.cache.slots = spec.cache_blocks * spec.block_size;
  const std::size_t cache_bytes = static_cast<std::size_t>(t.cache.slots) * row_bytes(key);
  reserve_large_pages(t.cache.bytes, cache_bytes);
  t.cache.bytes.resize(cache_bytes);
  poison(t.cache, key.variant);
  for_each_key(spec, [&](std::int64_t slot, const RowId& id) {
    encoded_row(spec.data, id, key,
                &t.cache.bytes[static_cast<std::size_t>(slot) * row_bytes(key)]);
  });
  return t;
}

std::int64_t saturated_elements(const Case& c, const Batch& batch) {
  const TensorSpec spec = tensor_spec(c, batch);
  std::int64_t count = 0;
  const auto count_in = [&](const RowId& id, const RowFormat& format) {
    if (format.dtype != Dtype::fp8) return;
    Values values;
    element_row(spec.data, id, values);
    for (const float v : values)
      if (std::fabs(v / format.scale) > fp8_max(format.variant)) ++count;
  };
  const RowFormat query = query_format(spec);
  const RowFormat key = key_format(spec);
  for_each_query(spec, [&](std::size_t, const RowId& id) { count_in(id, query); });
  for_each_key(spec, [&](std::int64_t, const RowId& id) { count_in(id, key); });
  return count;
}

}  // namespace mla::prop
