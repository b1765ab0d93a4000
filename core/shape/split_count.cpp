#include "core/shape/split_count.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/say.hpp"

namespace mla::plan {
namespace {

std::optional<std::int64_t> fp8_block(std::int64_t packed_rows) {
  switch (packed_rows) {
    case 8:
    case 48:
      return 64;
    case 16:
    case 24:
      return 128;
    case 64:
      return 64;
    case 32:
      return 128;
    case 128:
    case 256:
    case 384:
    case 512:
      return 32;
    default:
      return std::nullopt;
  }
}

std::int64_t best_occupancy(const SplitQuery& query, double average) {
  const double cus = static_cast<double>(query.compute_units.count());
  double best = -1;
  std::int64_t splits = 1;
  for (std::int64_t i = 1; i <= 16; ++i) {
    const double groups = static_cast<double>(query.batch.count() * i);
    const double occupancy = groups / (std::ceil(groups / cus) * cus);
    const double score = occupancy * average / (average + 84.1 * static_cast<double>(i));
    if (score > best) best = score, splits = i;
  }
  return splits;
}

}  // namespace

Result<std::int64_t> split_count(const SplitQuery& query) {
  const std::int64_t batch = query.batch.count();
  const double average = static_cast<double>(query.total_kv.count()) / static_cast<double>(batch);
  std::int64_t splits = query.asked > 0 ? query.asked : best_occupancy(query, average);
  if (query.dtype.q != Dtype::fp8) return splits;
  const std::int64_t packed = query.heads.count() * query.max_qo_len;
  const auto block = fp8_block(packed);
  if (!block)
    return Error{ErrorCode::unsupported,
                 say("the fp8 split table has no entry for ", packed, " = ", query.heads.count(),
                     " heads x ", query.max_qo_len, " rows"),
                 "BUG-078"};
  splits = std::min(splits, ceil_div(query.total_kv.count(), batch * *block));
  if (splits > 1) {
    const double beyond = std::fabs(average - static_cast<double>(query.max_qo_len));
    const double blocks = std::floor(beyond / static_cast<double>(*block));
    splits = std::min(splits, static_cast<std::int64_t>(blocks) + 1);
  }
  return std::max<std::int64_t>(splits, 1);
}

std::int64_t split_granularity(Heads heads, std::int64_t max_qo_len, DtypePair dtype) {
  const std::int64_t h = heads.count();
  if ((h == 8 || h == 16) && (max_qo_len == 1 || (h == 8 && max_qo_len == 2))) return 64;
  if (h == 128 && dtype.both(Dtype::fp8)) return 32;
  if (h == 64 && dtype.neither(Dtype::fp8) && max_qo_len == 1) return 32;
  return 16;
}

bool merges_one_split(Heads heads, std::int64_t max_qo_len, DtypePair dtype) {
  return heads.count() == 16 && max_qo_len == 1 && dtype.q == Dtype::bf16;
}

// Read from the code objects, kernel by kernel (docs/findings/aiter.md).
std::int64_t kernel_split_tile(Arch arch, Heads heads, std::int64_t max_qo_len, DtypePair dtype) {
  const std::int64_t h = heads.count();
  if (h == 16 && dtype.both(Dtype::fp8)) {
    if (max_qo_len == 1) return arch == Arch::gfx950 ? 128 : 64;
    if (max_qo_len == 2) return 64;
    if (max_qo_len == 3 || max_qo_len == 4) return arch == Arch::gfx950 ? 64 : 32;
  }
  if (h == 32 && dtype.both(Dtype::bf16) && arch == Arch::gfx950) return 32;
  return split_granularity(heads, max_qo_len, dtype);
}

}  // namespace mla::plan
