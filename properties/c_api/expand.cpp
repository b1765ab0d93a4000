// Page expansion through the C interface.
#include "core/paging/expand.hpp"

#include <vector>

#include "properties/c_api/execution.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;

struct Expansion {
  const aiter_tensor_t *block_table, *kv_indptr, *table_rows, *kv_indices;
  std::int64_t pages_per_block;
};

MaybeFailure check(const Expansion& e) {
  if (auto bad = check_fields({{"pages_per_block", e.pages_per_block, 1, kMaxGranularity}}))
    return bad;
  if (auto bad = check_tensor(e.block_table, {.name = "block_table",
                                              .dtypes = {MLA_DTYPE_I32},
                                              .shape = {kAny, kAny},
                                              .contiguous = false}))
    return bad;
  const Wanted sums = {.name = "kv_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}};
  if (auto bad = check_tensor(e.kv_indptr, sums)) return bad;
  if (e.kv_indptr->numel < 1) return bad_tensor("kv_indptr", "at least 1 entry", "0");
  if (auto bad = check_running_sum("kv_indptr", *e.kv_indptr)) return bad;
  const auto requests = static_cast<std::int64_t>(e.kv_indptr->numel) - 1;
  if (e.table_rows != nullptr)
    if (auto bad = check_tensor(
            e.table_rows, {.name = "table_rows", .dtypes = {MLA_DTYPE_I64}, .shape = {requests}}))
      return bad;
  return check_tensor(e.kv_indices,
                      {.name = "kv_indices", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}});
}

MaybeFailure expand(const Expansion& e) {
  if (auto bad = check(e)) return bad;
  std::vector<std::int64_t> own_rows;
  ExpandInput input;
  const aiter_tensor_t& table = *e.block_table;
  input.table = {.data = elements<const std::int32_t>(table).data(),
                 .rows = table.shape[0],
                 .columns = table.shape[1],
                 .row_stride = table.strides[0],
                 .column_stride = table.strides[1]};
  input.kv_indptr = elements<const std::int32_t>(*e.kv_indptr);
  if (e.table_rows != nullptr) {
    input.table_rows = elements<const std::int64_t>(*e.table_rows);
  } else {
    for (std::size_t r = 0; r + 1 < input.kv_indptr.size(); ++r)
      own_rows.push_back(static_cast<std::int64_t>(r));
    input.table_rows = own_rows;
  }
  input.pages_per_block = e.pages_per_block;
  if (const MaybeError bad = expand_pages(input, {}, elements<std::int32_t>(*e.kv_indices)))
    return failure_of(*bad);
  return std::nullopt;
}

}  // namespace
}  // namespace mla::c_api

extern "C" int mla_expand_pages(const aiter_tensor_t* block_table, const aiter_tensor_t* kv_indptr,
                                const aiter_tensor_t* table_rows, int64_t pages_per_block,
                                const aiter_tensor_t* kv_indices) {
  return mla::c_api::at_border([&] {
    return mla::c_api::expand({block_table, kv_indptr, table_rows, kv_indices, pages_per_block});
  });
}
