#include "core/engine/launch.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "core/say.hpp"

namespace mla {
namespace {

Error contradiction(const std::string& what, std::size_t have, std::int64_t need) {
  return {ErrorCode::fault, say(what, " has ", have, " bytes, not ", need)};
}

// Every list has what its requests need: kernels follow qo_indptr.
MaybeError check_lists(const DecodeMetadata& md) {
  const auto other = [](const char* list, std::size_t have, std::size_t need) {
    return Error{ErrorCode::fault, say(list, " has ", have, " entries, not ", need)};
  };
  if (md.qo_indptr.empty()) return other("qo_indptr", 0, 1);
  const std::size_t requests = md.qo_indptr.size() - 1;
  if (md.kv_indptr.size() != requests + 1)
    return other("kv_indptr", md.kv_indptr.size(), requests + 1);
  if (md.last_page_len.size() != requests)
    return other("last_page_len", md.last_page_len.size(), requests);
  if (md.kv_lens.size() != requests) return other("kv_lens", md.kv_lens.size(), requests);
  return std::nullopt;
}

// A kernel takes the entries of a list of bounds but one for its slots or tiles.
MaybeError check_bounds(const plan::PlanView& plan) {
  const auto none = [](const char* list) {
    return Error{ErrorCode::fault, say(list, " has 0 entries, not at least 1")};
  };
  if (plan.work_indptr.empty()) return none("work_indptr");
  if (plan.reduce_indptr.empty()) return none("reduce_indptr");
  return std::nullopt;
}

}  // namespace

Support common_support(const ResolvedShape& shape) {
  if (shape.dtype.q == Dtype::fp8 && shape.dtype.kv == Dtype::bf16)
    return {false, "no kernel takes an fp8 query with a bf16 cache"};
  if (shape.page_size < 1) return {false, say("page size ", shape.page_size, " is not positive")};
  if (shape.fold_ratio() > 1 && shape.uniform_qo_len < 1)
    return {false,
            say("heads folded ", shape.fold_ratio(), " times need requests of equal query length")};
  if (shape.route == Route::split && (shape.kv_splits < 1 || shape.split_granularity < 1))
    return {false,
            say(shape.kv_splits, " splits of ", shape.split_granularity, " tokens are none")};
  return {true, {}};
}

MaybeError check_launch(const DecodeLaunch& launch) {
  const ResolvedShape& shape = launch.metadata.shape;
  const DecodeTensors& t = launch.tensors;
  if (MaybeError bad = check_lists(launch.metadata)) return bad;
  if (t.cache.dtype != shape.dtype.kv)
    return Error{ErrorCode::fault, say("the cache holds ", name(t.cache.dtype), ", the shape says ",
                                       name(shape.dtype.kv))};
  if (t.cache.widths != shape.widths)
    return Error{ErrorCode::fault, say("the cache has rows of ", text_of(t.cache.widths),
                                       ", the shape says ", text_of(shape.widths))};
  const std::int64_t q_bytes = launch.metadata.rows().count() * shape.heads.model.count() *
                               shape.widths.key_bytes(shape.dtype.q);
  if (static_cast<std::int64_t>(t.q.size()) != q_bytes)
    return contradiction("q", t.q.size(), q_bytes);
  const std::int64_t cache_bytes = t.cache.slots * t.cache.row_bytes();
  if (static_cast<std::int64_t>(t.cache.bytes.size()) != cache_bytes)
    return contradiction("the cache", t.cache.bytes.size(), cache_bytes);
  if (shape.route != Route::split && !launch.metadata.plan)
    return Error{ErrorCode::fault, say("route ", name(shape.route), " has no plan")};
  if (launch.metadata.plan) return check_bounds(launch.metadata.plan->view());
  return std::nullopt;
}

std::vector<std::byte> pack_q(const RowMap& rows, const DecodeTensors& tensors, Dtype dtype) {
  const auto bytes = static_cast<std::size_t>(tensors.cache.widths.key_bytes(dtype));
  const std::int64_t model = rows.padding().model.count();
  const auto pairs = static_cast<std::size_t>(rows.kernel_rows() * rows.row_heads());
  std::vector<std::byte> packed(pairs * bytes);
  std::byte* to = packed.data();
  for (std::int64_t row = 0; row < rows.kernel_rows(); ++row) {
    for (std::int64_t head = 0; head < rows.row_heads(); ++head, to += bytes) {
      const auto from =
          static_cast<std::size_t>(rows.query_row(row) * model + rows.model_head(row, head));
      std::memcpy(to, tensors.q.data() + from * bytes, bytes);
    }
  }
  return packed;
}

void unpack_rows(const RowMap& rows, ValueDims value, std::span<const std::uint16_t> out,
                 std::span<const float> lse, DecodeResult& result) {
  const std::int64_t dims = value.count();
  const std::int64_t heads = rows.padding().model.count();
  result.out.reserve(static_cast<std::size_t>(rows.query_rows() * heads * dims));
  for (std::int64_t row = 0; row < rows.query_rows(); ++row) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const auto [kernel_row, kernel_head] = rows.place(row, head);
      const auto from = static_cast<std::size_t>(kernel_row * rows.row_heads() + kernel_head);
      const auto values =
          out.subspan(from * static_cast<std::size_t>(dims), static_cast<std::size_t>(dims));
      result.out.insert(result.out.end(), values.begin(), values.end());
      result.lse.push_back(lse[from]);
    }
  }
}

std::vector<RowRange> keyless_rows_of(std::span<const std::int32_t> qo_indptr,
                                      std::span<const std::int64_t> kv_lens) {
  std::vector<RowRange> rows;
  for (std::size_t r = 0; r < kv_lens.size(); ++r)
    if (kv_lens[r] == 0 && qo_indptr[r + 1] > qo_indptr[r])
      rows.push_back({qo_indptr[r], qo_indptr[r + 1]});
  return rows;
}

void write_keyless(const DecodeMetadata& md, DecodeResult& result) {
  const std::int64_t heads = md.shape.heads.model.count();
  const std::int64_t row = heads * md.shape.widths.value().count();
  for (const auto& [begin, end] : md.keyless_rows) {
    if (begin < 0 || end < begin || end > md.rows().count()) {
      result.faults.push_back(
          {say("keyless rows [", begin, ", ", end, ") are not in [0, ", md.rows().count(), ")"), -1,
           -1});
      continue;
    }
    std::fill(result.out.begin() + begin * row, result.out.begin() + end * row, std::uint16_t{0});
    std::fill(result.lse.begin() + begin * heads, result.lse.begin() + end * heads,
              -std::numeric_limits<float>::infinity());
  }
}

}  // namespace mla
