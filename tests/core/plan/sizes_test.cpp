// Claims about the size queries against AITER's own answers.
#include "core/plan/sizes.hpp"

#include <nlohmann/json.hpp>

#include "core/plan/ps_prefill.hpp"
#include "core/shape/split_count.hpp"
#include "tests/catch.hpp"
#include "tests/core/plan/golden.hpp"

namespace {

using mla::plan::BufferSizes;
using mla::plan::query_sizes;
using mla::plan::SizeQuery;
using nlohmann::json;

SizeQuery query_of(const json& row) {
  const auto dtype = [&](std::size_t column) {
    return *mla::dtype_from_name(row[column].get<std::string>());
  };
  return {.arch = *mla::arch_from_name(row[0].get<std::string>()),
          .compute_units = mla::ComputeUnits(row[1].get<std::int64_t>()),
          .batch = mla::Requests(row[2].get<std::int64_t>()),
          .max_qo_len = row[3],
          .heads = mla::Heads(row[4].get<std::int64_t>()),
          .dtype = {dtype(5), dtype(6)},
          .sparse = row[7] != 0,
          .fast_mode = row[8] != 0,
          .num_kv_splits = row[9],
          .intra_batch_mode = row[10] != 0,
          .max_split_per_batch = row[11]};
}

// The five sizes of a row, from column `first` on.
BufferSizes sizes_of(const json& row, std::size_t first) {
  return {.work_indptr = row[first],
          .work_items = row[first + 1],
          .reduce_indptr = row[first + 2],
          .reduce_final_rows = row[first + 3],
          .reduce_partial_map = row[first + 4]};
}

std::string refusal(const SizeQuery& query) {
  const auto sizes = query_sizes(query);
  return sizes.ok() ? "accepted" : sizes.error().message;
}

}  // namespace

TEST_CASE("sizes: the size query equals AITER's in all golden rows", "[plan][sizes][P07]") {
  const json rows = mla::golden::load("sizes")["mla"];
  CHECK(rows.size() == 6804);
  for (const json& row : rows) {
    const auto sizes = query_sizes(query_of(row));
    if (!sizes.ok() || *sizes != sizes_of(row, 12)) FAIL_CHECK(row.dump());
  }
}

TEST_CASE("sizes: the prefill size query equals AITER's in all golden rows", "[plan][sizes]") {
  const json rows = mla::golden::load("sizes")["ps"];
  CHECK(rows.size() == 720);
  for (const json& row : rows) {
    const auto sizes =
        mla::plan::query_ps_sizes({.compute_units = mla::ComputeUnits(row[1].get<std::int64_t>()),
                                   .batch = mla::Requests(row[2].get<std::int64_t>()),
                                   .kv_heads = mla::Heads(row[3].get<std::int64_t>()),
                                   .max_qo_len = row[4],
                                   .qlen_granularity = row[5]});
    if (!sizes.ok() || *sizes != sizes_of(row, 6)) FAIL_CHECK(row.dump());
  }
}

TEST_CASE("sizes: the experimental kernel doubles the slots and tiles by 128 rows",
          "[plan][sizes]") {
  SizeQuery query{.arch = mla::Arch::gfx950,
                  .compute_units = mla::ComputeUnits(256),
                  .max_qo_len = 4,
                  .heads = mla::Heads(16),
                  .dtype = {mla::Dtype::fp8, mla::Dtype::fp8},
                  .experimental = true};
  CHECK((*query_sizes(query)).work_indptr == 513);
  query.experimental = false;
  CHECK((*query_sizes(query)).work_indptr == 257);
  for (const auto& [heads, rows] : {std::pair{32, 4}, {64, 2}}) {
    query = {.max_qo_len = rows,
             .heads = mla::Heads(heads),
             .dtype = {mla::Dtype::fp8, mla::Dtype::fp8},
             .experimental = true};
    CHECK(mla::plan::query_tiles(query) == 1);
    query.experimental = false;
    CHECK(mla::plan::query_tiles(query) == 8);
  }
}

TEST_CASE("sizes: a batch of no request has one entry in reduce_indptr and no rows to merge",
          "[plan][sizes]") {
  for (const std::int64_t heads : {16, 32, 128})
    for (const bool fast_mode : {true, false}) {
      const auto sizes = query_sizes(
          {.batch = mla::Requests(0), .heads = mla::Heads(heads), .fast_mode = fast_mode});
      REQUIRE(sizes.ok());
      CHECK(sizes->reduce_indptr == 1);
      CHECK(sizes->reduce_final_rows == 0);
    }
}

TEST_CASE("sizes: a split cap raises the partial rows of a batch that outnumbers the slots",
          "[plan][sizes][P23]") {
  SizeQuery query;
  query.compute_units = mla::ComputeUnits(80);
  query.batch = mla::Requests(200);
  // 200 tiles in 80 slots are cut at most 79 times: 158 pieces of cut tiles.
  CHECK((*query_sizes(query)).reduce_partial_map == 158);
  for (const std::int64_t none : {-1, 0}) {
    query.max_split_per_batch = none;
    CHECK((*query_sizes(query)).reduce_partial_map == 158);
  }
  for (const std::int64_t cap : {1, 2, 7}) {
    query.max_split_per_batch = cap;
    CHECK((*query_sizes(query)).reduce_partial_map == 200 + 80);
  }
}

TEST_CASE("splits: the split count equals AITER's in all golden rows", "[plan]") {
  const json rows = mla::golden::load("splits")["rows"];
  CHECK(rows.size() == 420);
  for (const json& row : rows) {
    const mla::Dtype q = row[5] == 1 ? mla::Dtype::fp8 : mla::Dtype::bf16;
    const auto splits = mla::plan::split_count({mla::ComputeUnits(row[0].get<std::int64_t>()),
                                                mla::Requests(row[1].get<std::int64_t>()),
                                                mla::Tokens(row[2].get<std::int64_t>()),
                                                mla::Heads(row[3].get<std::int64_t>()),
                                                row[4],
                                                {q, q}});
    if (!splits.ok() || *splits != row[6]) FAIL_CHECK(row.dump());
  }
}

TEST_CASE("splits: tiles of keys are 64, 32 or 16 tokens", "[plan]") {
  using enum mla::Dtype;
  const auto tokens = [](std::int64_t heads, std::int64_t rows, mla::DtypePair dtype) {
    return mla::plan::split_granularity(mla::Heads(heads), rows, dtype);
  };
  for (const mla::DtypePair dtype : {mla::DtypePair{bf16, bf16}, {bf16, fp8}, {fp8, fp8}}) {
    CHECK(tokens(8, 1, dtype) == 64);
    CHECK(tokens(8, 2, dtype) == 64);
    CHECK(tokens(8, 3, dtype) == 16);
    CHECK(tokens(16, 1, dtype) == 64);
    CHECK(tokens(16, 2, dtype) == 16);
    CHECK(tokens(32, 1, dtype) == 16);
    CHECK(tokens(64, 2, dtype) == 16);
  }
  CHECK(tokens(128, 1, {fp8, fp8}) == 32);
  CHECK(tokens(128, 4, {fp8, fp8}) == 32);
  CHECK(tokens(128, 1, {bf16, fp8}) == 16);
  CHECK(tokens(128, 1, {bf16, bf16}) == 16);
  CHECK(tokens(64, 1, {bf16, bf16}) == 32);
  CHECK(tokens(64, 1, {bf16, fp8}) == 16);
  CHECK(tokens(64, 1, {fp8, fp8}) == 16);
}

TEST_CASE("splits: some kernels of AITER have larger tiles than the merge counts", "[plan]") {
  using enum mla::Dtype;
  std::int64_t larger = 0;
  for (const mla::Arch arch : {mla::Arch::gfx942, mla::Arch::gfx950})
    for (const mla::DtypePair dtype : {mla::DtypePair{bf16, bf16}, {bf16, fp8}, {fp8, fp8}})
      for (const std::int64_t heads : {8, 16, 32, 64, 128})
        for (const std::int64_t rows : {1, 2, 3, 4}) {
          const std::int64_t counted = mla::plan::split_granularity(mla::Heads(heads), rows, dtype);
          const std::int64_t taken =
              mla::plan::kernel_split_tile(arch, mla::Heads(heads), rows, dtype);
          CHECK(taken >= counted);
          larger += taken > counted ? 1 : 0;
        }
  CHECK(larger == 6 + 1 + 4);  // 2 to 4 rows of fp8, 1 on gfx950; 32 heads of bf16 on gfx950
  const auto of_fp8 = [](mla::Arch arch, std::int64_t rows) {
    return mla::plan::kernel_split_tile(arch, mla::Heads(16), rows, {fp8, fp8});
  };
  CHECK(of_fp8(mla::Arch::gfx942, 1) == 64);
  CHECK(of_fp8(mla::Arch::gfx950, 1) == 128);
  CHECK(of_fp8(mla::Arch::gfx942, 2) == 64);
  CHECK(of_fp8(mla::Arch::gfx950, 2) == 64);
  for (const std::int64_t rows : {3, 4}) {
    CHECK(of_fp8(mla::Arch::gfx942, rows) == 32);
    CHECK(of_fp8(mla::Arch::gfx950, rows) == 64);
  }
  CHECK(mla::plan::kernel_split_tile(mla::Arch::gfx950, mla::Heads(32), 1, {bf16, bf16}) == 32);
}

TEST_CASE("splits: an fp8 query that one block nearly holds is not split", "[plan]") {
  // 16 heads of 4 rows: blocks of 64 keys. 66 keys are two blocks, and one beyond the rows.
  const auto splits = [](std::int64_t keys) {
    return *mla::plan::split_count({mla::ComputeUnits(304),
                                    mla::Requests(1),
                                    mla::Tokens(keys),
                                    mla::Heads(16),
                                    4,
                                    {mla::Dtype::fp8, mla::Dtype::fp8}});
  };
  CHECK(splits(66) == 1);
  CHECK(splits(67) == 1);
  CHECK(splits(68) == 2);
  CHECK(splits(64 * 3 + 4) == 4);
}

TEST_CASE("sizes: a query that AITER asserts on or cannot allocate is refused with its value",
          "[plan][sizes]") {
  CHECK_THAT(refusal({.heads = mla::Heads(12)}), mla::test::contains("heads 12"));
  CHECK_THAT(refusal({.heads = mla::Heads(0)}), mla::test::contains("heads 0"));
  CHECK_THAT(refusal({.batch = mla::Requests(-3)}), mla::test::contains("batch -3"));
  CHECK(mla::plan::query_sizes({.batch = mla::Requests(0)}).ok());
  CHECK_THAT(refusal({.max_qo_len = -1}), mla::test::contains("max_qo_len -1"));
  CHECK_THAT(refusal({.compute_units = mla::ComputeUnits(0)}),
             mla::test::contains("compute_units 0"));
  CHECK_THAT(refusal({.num_kv_splits = 0, .intra_batch_mode = true}),
             mla::test::contains("num_kv_splits 0"));
  const auto ps = mla::plan::query_ps_sizes({.kv_heads = mla::Heads(0)});
  REQUIRE_FALSE(ps.ok());
  CHECK_THAT(ps.error().message, mla::test::contains("kv_heads is 0"));
}
