#include "properties/step/decode/page_zero.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/engine/row_map.hpp"
#include "core/engine/whole_cache.hpp"
#include "core/numeric/fp8.hpp"

namespace mla::prop {
namespace {

constexpr std::int64_t kTile = 64;     // keys of a tile of AITER's fp8 kernels of 16 heads
constexpr double kLargestLead = 1000;  // beyond which every probability is 0 in any format

using Elements = std::array<float, static_cast<std::size_t>(kMostKeyDims)>;  // zeros past the row

float dot(const Elements& a, const Elements& b) {
  // Eight sums, which a compiler may keep in one register.
  std::array<float, 8> sums{};
  for (std::size_t d = 0; d < a.size(); d += sums.size())
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += a[d + i] * b[d + i];
  float sum = 0;
  for (const float s : sums) sum += s;
  return sum;
}
static_assert(kMostKeyDims % 8 == 0);

class Leads {
 public:
  Leads(const DecodeLaunch& launch, const RowMap& rows)
      : md_(launch.metadata),
        tensors_(launch.tensors),
        rows_(rows),
        values_(fp8_values(launch.metadata.shape.fp8)),
        scale_(double{tensors_.softmax_scale} * tensors_.q_scale * tensors_.kv_scale) {}

  [[nodiscard]] double of(const plan::WorkItem& work) const {
    const std::vector<Elements> keys = keys_of(work);
    const auto zero = key_at(0);
    const std::int64_t end = last_row(work);
    double lead = 0;
    for (std::int64_t row = work.q_begin; row < work.q_end; ++row) {
      const std::int64_t hidden = md_.shape.causal ? end - 1 - row : 0;
      const std::int64_t seen =
          std::min(std::ssize(keys), std::ssize(keys) + work.kv_offset - hidden);
      for (std::int64_t head = 0; head < rows_.row_heads(); ++head) {
        const Elements query = query_at(row, head);
        double best = -std::numeric_limits<double>::infinity();
        for (std::int64_t j = 0; j < seen; ++j)
          best = std::max<double>(best, dot(query, keys[static_cast<std::size_t>(j)]));
        const double past = zero ? dot(query, *zero) : 0;  // unbacked, it is zeros
        lead = std::max(lead, scale_ * (past - best));     // not if either is NaN
      }
    }
    return lead;
  }

 private:
  // The end of the request's kernel rows.
  [[nodiscard]] std::int64_t last_row(const plan::WorkItem& work) const {
    if (rows_.fold() > 1) return (std::int64_t{work.batch} + 1) * md_.shape.max_qo_len;
    return md_.qo_indptr[static_cast<std::size_t>(work.batch) + 1];
  }
  [[nodiscard]] Elements decode(const std::byte* row) const {
    Elements out{};
    const auto dims = static_cast<std::size_t>(tensors_.cache.widths.key().count());
    for (std::size_t d = 0; d < dims; ++d) out[d] = values_[std::to_integer<std::size_t>(row[d])];
    return out;
  }
  [[nodiscard]] std::optional<Elements> key_at(std::int64_t slot) const {
    const std::int64_t at = slot - tensors_.cache.first_slot;
    if (at < 0 || at >= tensors_.cache.slots) return std::nullopt;
    return decode(tensors_.cache.bytes.data() + at * tensors_.cache.row_bytes());
  }
  [[nodiscard]] std::vector<Elements> keys_of(const plan::WorkItem& work) const {
    std::vector<Elements> keys;
    for (std::int64_t j = work.kv_begin; j < work.kv_end; ++j)
      if (const auto key = key_at(md_.kv_indices[static_cast<std::size_t>(j)]))
        keys.push_back(*key);
    return keys;
  }
  [[nodiscard]] Elements query_at(std::int64_t kernel_row, std::int64_t head) const {
    const std::int64_t pair = rows_.query_row(kernel_row) * rows_.padding().model.count() +
                              rows_.model_head(kernel_row, head);
    return decode(tensors_.q.data() + pair * tensors_.cache.widths.key().count());
  }

  const DecodeMetadata& md_;
  const DecodeTensors& tensors_;
  const RowMap& rows_;
  const std::array<float, 256>& values_;
  double scale_;
};

// Whether the work lies where its request does: a damaged plan may say anything.
bool in_bounds(const DecodeMetadata& md, const RowMap& rows, const plan::WorkItem& work) {
  return work.batch >= 0 && work.batch < md.requests().count() * rows.fold() && work.q_begin >= 0 &&
         work.q_end <= rows.kernel_rows() && work.kv_begin >= 0 &&
         work.kv_end <= std::ssize(md.kv_indices);
}

}  // namespace

std::string page_zero_of(const DecodeLaunch& launch) {
  const KvCache& cache = launch.tensors.cache;
  // A cache that ends below this address is whole on the device, with zeros in front of it.
  const std::int64_t end = (cache.first_slot + cache.slots) * cache.row_bytes();
  if (cache.first_slot > 0) return end <= kWholeCacheBytes ? "finite" : "unbacked";
  const std::int64_t elements =
      std::min(launch.metadata.shape.page_size, cache.slots) * cache.widths.key().count();
  const bool fp8 = cache.dtype == Dtype::fp8;
  const bool fnuz = launch.metadata.shape.fp8 == Fp8Variant::e4m3fnuz;
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto low = std::to_integer<unsigned>(cache.bytes[fp8 ? at : 2 * at]);
    const auto high = fp8 ? 0U : std::to_integer<unsigned>(cache.bytes[2 * at + 1]);
    const bool bf16_special = (((high << 8U) | low) & 0x7F80U) == 0x7F80U;
    if (fp8 ? (fnuz ? low == 0x80U : (low & 0x7FU) == 0x7FU) : bf16_special) return "not-finite";
  }
  return "finite";
}

std::int64_t page_zero_lead(const DecodeLaunch& launch) {
  const DecodeMetadata& md = launch.metadata;
  if (!md.plan || md.shape.page_size != 1 || !md.shape.dtype.both(Dtype::fp8)) return 0;
  const auto rows = RowMap::make(md);
  if (!rows) return 0;
  const Leads leads(launch, *rows);
  double lead = 0;
  for (std::int64_t w = 0; w < md.plan->works(); ++w) {
    const plan::WorkItem work = md.plan->work(w);
    const std::int64_t keys = std::int64_t{work.kv_end} - work.kv_begin;
    if (keys > 0 && keys % kTile != 0 && work.kv_offset > 0 && in_bounds(md, *rows, work))
      lead = std::max(lead, leads.of(work));
  }
  return static_cast<std::int64_t>(std::ceil(std::min(lead, kLargestLead)));
}

}  // namespace mla::prop
