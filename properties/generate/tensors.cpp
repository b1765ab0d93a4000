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

using Values = std::array<float, static_cast<std::size_t>(kDrawnDims)>;

RowFormat query_format(const TensorSpec& spec) {
  return {spec.dtype.q, spec.variant, spec.q_scale};
}
RowFormat key_format(const TensorSpec& spec) {
  return {spec.dtype.kv, spec.variant, spec.kv_scale};
}

// The rows of one tensor, of the widths of a spec.
class Rows {
 public:
  Rows(const TensorSpec& spec, const RowFormat& format)
      : data_(spec.data),
        format_(format),
        dims_(static_cast<std::size_t>(spec.widths.key().count())),
        bytes_(static_cast<std::size_t>(spec.widths.key_bytes(format.dtype))) {}

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // The elements of a row: the first of a drawn one. The one of a one-hot row is folded into them.
  std::span<const float> values(const RowId& id, Values& drawn) const {
    element_row(data_, id, drawn);
    if (data_.kind == Distribution::onehot)
      for (std::size_t d = dims_; d < drawn.size(); ++d)
        if (drawn[d] != 0) drawn[d % dims_] = drawn[d];
    return std::span(drawn).first(dims_);
  }
  void encode(const RowId& id, std::byte* out) const {
    if (dims_ == kDrawnDims) return encoded_row(data_, id, format_, out);
    Values drawn;
    for (const float value : values(id, drawn)) {
      if (format_.dtype == Dtype::fp8) {
        *out++ = std::byte{fp8_from_float(value / format_.scale, format_.variant)};
        continue;
      }
      const std::uint16_t bits = bf16_from_float(value, Bf16Rounding::nearest_even);
      std::memcpy(out, &bits, sizeof bits);
      out += sizeof bits;
    }
  }

 private:
  const DataSpec& data_;
  const RowFormat format_;
  const std::size_t dims_;
  const std::size_t bytes_;
};

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
          .widths = c.widths(),
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

float softmax_scale_of(const RowWidths& widths) {
  if (widths == kBuiltIn) return kSoftmaxScale;
  const bool absorbed = widths.value().count() <= widths.latent().count();
  const std::int64_t dims = absorbed ? 128 + widths.rope().count() : widths.key().count();
  return 1.0F / std::sqrt(static_cast<float>(dims));
}

DecodeTensors make_tensors(const TensorSpec& spec) {
  const RowFormat query = query_format(spec);
  const RowFormat key = key_format(spec);
  const Rows queries(spec, query);
  const Rows keys(spec, key);
  std::int64_t rows = 0;
  for (const RequestSpec& r : spec.requests) rows += r.qo_len;
  DecodeTensors t;
  t.softmax_scale = softmax_scale_of(spec.widths);
  t.q_scale = query.scale;
  t.kv_scale = key.scale;
  t.q.resize(static_cast<std::size_t>(rows * spec.heads) * queries.bytes());
  for_each_query(spec, [&](std::size_t index, const RowId& id) {
    queries.encode(id, &t.q[index * queries.bytes()]);
  });
  t.cache.dtype = key.dtype;
  t.cache.widths = spec.widths;
  t.cache.first_slot = spec.first_block * spec.block_size;
  t.cache.slots = spec.cache_blocks * spec.block_size;
  const std::size_t cache_bytes = static_cast<std::size_t>(t.cache.slots) * keys.bytes();
  reserve_large_pages(t.cache.bytes, cache_bytes);
  t.cache.bytes.resize(cache_bytes);
  poison(t.cache, key.variant);
  for_each_key(spec, [&](std::int64_t slot, const RowId& id) {
    keys.encode(id, &t.cache.bytes[static_cast<std::size_t>(slot) * keys.bytes()]);
  });
  return t;
}

std::int64_t saturated_elements(const Case& c, const Batch& batch) {
  const TensorSpec spec = tensor_spec(c, batch);
  std::int64_t count = 0;
  const auto count_in = [&](const RowId& id, const RowFormat& format) {
    if (format.dtype != Dtype::fp8) return;
    Values drawn;
    for (const float v : Rows(spec, format).values(id, drawn))
      if (std::fabs(v / format.scale) > fp8_max(format.variant)) ++count;
  };
  const RowFormat query = query_format(spec);
  const RowFormat key = key_format(spec);
  for_each_query(spec, [&](std::size_t, const RowId& id) { count_in(id, query); });
  for_each_key(spec, [&](std::int64_t, const RowId& id) { count_in(id, key); });
  return count;
}

}  // namespace mla::prop
