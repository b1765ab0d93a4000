#include "core/plan/sizes.hpp"

#include <algorithm>
#include <string>

#include "core/say.hpp"

namespace mla::plan {
namespace {

constexpr std::int64_t kDefaultTileRows = 16;

// Rows that the size query counts for one request: a sparse row is a request of its own.
std::int64_t rows_of_request(const SizeQuery& query) {
  return query.sparse ? 1 : query.max_qo_len;
}

// Two slots a compute unit only for the experimental kernel that packs 64 rows.
std::int64_t slots(const SizeQuery& query) {
  const bool doubled = query.experimental && query.arch == Arch::gfx950 &&
                       query.dtype.both(Dtype::fp8) && query.heads.count() * query.max_qo_len == 64;
  return query.compute_units.count() * (doubled ? 2 : 1);
}

// gfx950 shapes whose workgroup packs 64 rows.
bool packs_64_rows(const SizeQuery& query, std::int64_t h, std::int64_t rows) {
  if (query.arch != Arch::gfx950) return false;
  const std::int64_t packed = rows * h;
  if (query.dtype.both(Dtype::fp8)) return h == 32 && rows == 3;
  return query.dtype.both(Dtype::bf16) && packed >= 64 && h <= 64 && (packed < 128 || h == 48);
}

// Shapes that the query takes for native and packs 128 rows, whatever the tile count says.
bool packs_128_rows(const SizeQuery& query, std::int64_t h, std::int64_t rows) {
  if (h == 16) return true;
  if (!query.dtype.both(Dtype::fp8)) return false;
  if (h == 64 && rows == 1) return true;
  if (query.arch == Arch::gfx950) return (h == 32 && rows == 4) || h == 64 || h == 128;
  return h == 128 || (query.experimental && (h == 32 || h == 64) && rows * h == 128);
}

MaybeError check_query(const SizeQuery& query) {
  const auto bad = [](const std::string& what, std::int64_t value, const std::string& rule) {
    return Error{ErrorCode::unsupported, say("the size query got ", what, " ", value, ": ", rule)};
  };
  const std::int64_t h = query.heads.count();
  if (h <= 0 || h % 8 != 0) return bad("heads", h, "they must be a positive multiple of 8");
  if (query.batch.count() < 0)
    return bad("batch", query.batch.count(), "a batch has no negative size");
  if (query.max_qo_len < 1)
    return bad("max_qo_len", query.max_qo_len, "buffers need the longest query, at least 1");
  if (query.compute_units.count() < 1)
    return bad("compute_units", query.compute_units.count(), "a device has at least 1");
  if (query.intra_batch_mode && query.num_kv_splits < 1)
    return bad("num_kv_splits", query.num_kv_splits, "a request has at least 1 split");
  return std::nullopt;
}

}  // namespace

std::int64_t query_tiles(const SizeQuery& query) {
  const std::int64_t h = query.heads.count();
  const std::int64_t rows = rows_of_request(query);
  const std::int64_t packed = rows * h;
  if (packs_64_rows(query, h, rows)) return 2 * h > 64 ? rows : ceil_div(packed, 64);
  if (packs_128_rows(query, h, rows)) return ceil_div(packed, 128);
  if (query.arch == Arch::gfx950 && query.dtype.both(Dtype::bf16) && (packed >= 128 || h > 64) &&
      h != 48)
    return 2 * h > 128 ? rows : ceil_div(packed, 128);
  return ceil_div(packed, kDefaultTileRows);
}

Result<BufferSizes> query_sizes(const SizeQuery& query) {
  if (const MaybeError bad = check_query(query)) return *bad;
  const std::int64_t tiles = query_tiles(query);
  const std::int64_t ms = slots(query);
  const std::int64_t batch = query.batch.count() * (query.sparse ? query.max_qo_len : 1);
  const std::int64_t tile_count = batch * tiles;

  // A walk over the slots cuts at most once at each slot boundary: batch + slots - 1 pieces, of
  // which at most two a boundary belong to a split tile.
  std::int64_t works = (batch + ms - 1) * tiles;
  std::int64_t partials = std::min(batch + ms - 1, 2 * (ms - 1)) * tiles;
  if (!query.fast_mode) works = partials = tile_count * ms;
  if (query.max_split_per_batch > 0)
    partials = std::max(partials, tile_count + std::min(ms, query.max_split_per_batch * batch));
  if (query.intra_batch_mode) works = partials = tile_count * query.num_kv_splits;
  return BufferSizes{.work_indptr = ms + 1,
                     .work_items = works,
                     .reduce_indptr = tile_count + 1,
                     .reduce_final_rows = tile_count,
                     .reduce_partial_map = partials};
}

}  // namespace mla::plan
