// Claims about planners that are told other lengths than the lists hold, or none.
#include "tests/catch.hpp"
#include "tests/core/plan/batches.hpp"

using mla::Arch;
using mla::ComputeUnits;
using mla::Dtype;
using mla::Heads;
using mla::plan::Fidelity;
using mla::plan::PlannerVersion;
using mla::plan_test::all;
using mla::plan_test::Batch;
using mla::test::contains;

TEST_CASE("planner v1.2: an unknown max_qo_len that leaves an empty piece is refused", "[plan]") {
  Batch batch({33}, all(1, 2));
  batch.input.key.heads_per_kv_head = Heads(128);  // of fp8: one tile a row
  batch.input.key.dtype = {Dtype::fp8, Dtype::fp8};
  batch.input.key.compute_units = ComputeUnits(19);  // a slot holds 2 of the 3 blocks
  CHECK(batch.refusal() == "planned");
  batch.input.key.max_qo_len = -1;
  CHECK_THAT(batch.refusal(), contains("max_qo_len = -1"));
}

TEST_CASE(
    "planner v1.2: an unknown max_qo_len that hides a piece from the first row of a tile that is "
    "not the last one is refused",
    "[plan][BUG-012]") {
  Batch batch({0, 32, 0, 40, 37, 0}, all(6, 9));
  batch.input.key.arch = Arch::gfx950;
  batch.input.key.compute_units = ComputeUnits(8);
  batch.input.key.heads_per_kv_head = Heads(64);  // tiles of 5 and 4 rows
  batch.input.key.dtype = {Dtype::bf16, Dtype::fp8};
  batch.input.kv_granularity = 32;
  CHECK(batch.refusal() == "planned");
  batch.input.key.max_qo_len = -1;
  CHECK_THAT(batch.refusal(), contains("request 3 gets a work from key 64 to key 72"));
}

TEST_CASE("planner v1.2: an unknown max_qo_len for which a launch takes another kernel is refused",
          "[plan]") {
  Batch batch({1024}, all(1, 5));  // told of 5 rows, the planner cuts them in tiles of 3
  batch.input.key.arch = Arch::gfx950;
  batch.input.key.compute_units = ComputeUnits(256);
  CHECK(batch.refusal() == "planned");
  batch.input.key.max_qo_len = -1;
  CHECK_THAT(batch.refusal(),
             contains("up to 5 rows: planned would be tiles of 5 rows of 16 heads, "
                      "and their kernel takes tiles of 3 rows of 16 heads"));
  batch.input.key.max_qo_len = 0;
  CHECK_THAT(batch.refusal(), contains("max_qo_len = 0 for requests of up to 5 rows"));
  batch.input.fidelity = Fidelity::as_aiter;
  CHECK(batch.refusal() == "planned");
}

TEST_CASE("planner v1.2: 64 fp8 heads of one row are folded where the row is not told, and refused",
          "[plan]") {
  Batch batch({1024}, all(1, 1));  // on gfx942, whose kernel of 64 heads is for one row
  batch.input.key.heads_per_kv_head = Heads(64);
  batch.input.key.dtype = {Dtype::fp8, Dtype::fp8};
  CHECK(batch.refusal() == "planned");
  batch.input.key.max_qo_len = -1;
  CHECK_THAT(batch.refusal(),
             contains("up to 1 rows: planned would be tiles of 1 rows of 16 heads, "
                      "and their kernel takes tiles of 1 rows of 64 heads"));
}

TEST_CASE("planners: lists that begin elsewhere than the planner counts from are refused",
          "[plan]") {
  Batch batch({100, 200}, all(2, 1));
  SECTION("equal rows that do not begin at 0") {
    for (std::int32_t& row : batch.qo_indptr) row += 5;
    CHECK_THAT(batch.refusal(), contains("qo_indptr starts at 5"));
    batch.input.uniform_qo_len = -1;  // read from the list
    CHECK(batch.refusal() == "planned");
  }
  SECTION("rows below 0") {
    batch.input.uniform_qo_len = -1;
    batch.qo_indptr[0] = -3;
    CHECK_THAT(batch.refusal(), contains("qo_indptr starts at -3"));
  }
  SECTION("pages below 0") {
    batch.input.version = PlannerVersion::v1_1;
    batch.kv_indptr[0] = -5;
    CHECK_THAT(batch.refusal(), contains("kv_indptr starts at -5"));
  }
}

TEST_CASE("planner v1.2: rows are held against max_qo_len in a list with entries to spare",
          "[plan]") {
  Batch batch({100}, all(1, 4));
  batch.input.uniform_qo_len = -1;
  batch.qo_indptr = {0, 9, 9};
  batch.input.qo_indptr = batch.qo_indptr;
  CHECK_THAT(batch.refusal(), contains("request 0 has 9 query rows, more than max_qo_len = 4"));
}

TEST_CASE("planner v1.0: it needs one query length for all", "[plan]") {
  Batch batch({400}, all(1, 1));
  batch.input.version = PlannerVersion::v1_0;
  batch.input.max_split_per_batch = 32;
  CHECK(batch.refusal() == "planned");
  for (const std::int64_t rows : {-1, 0}) {
    batch.input.uniform_qo_len = rows;
    CHECK_THAT(batch.refusal(), contains("uniform_qo_len"));
    CHECK(batch.bug() == "");
  }
}

TEST_CASE("planners: the last page of a request without pages means nothing", "[plan]") {
  struct Asked {
    PlannerVersion version;
    std::int64_t page, rows;
  };
  for (const Asked& asked : {Asked{PlannerVersion::v1_1, 1, 1},
                             {PlannerVersion::v1_1, 1, 2},
                             {PlannerVersion::v1_2, 1, 1},
                             {PlannerVersion::v1_2, 1, 2},
                             {PlannerVersion::v1_2, 16, 2}}) {
    Batch batch({100, 0, 700, 0}, all(4, asked.rows), asked.page);
    batch.input.version = asked.version;
    const auto whole = batch.make();
    REQUIRE(whole.ok());
    for (const std::int64_t tokens : {std::int64_t{0}, asked.page + 1}) {
      for (const std::size_t r : {1U, 3U})
        batch.last_page_len[r] = static_cast<std::int32_t>(tokens);
      const auto same = batch.make();
      REQUIRE(same.ok());
      CHECK(*same == *whole);
    }
  }
}

TEST_CASE("planner v1.1: sparse rows that qo_indptr counts otherwise are refused",
          "[plan][BUG-016]") {
  Batch batch({10, 10}, all(2, 1));
  batch.input.version = PlannerVersion::v1_1;
  batch.input.topk = 5;
  CHECK(batch.refusal() == "planned");
  batch.qo_indptr = {0, 2, 4};
  batch.input.qo_indptr = batch.qo_indptr;
  CHECK_THAT(batch.refusal(), contains("request 0 has 2 query rows in qo_indptr"));
}

TEST_CASE(
    "sizes: three shapes have more tiles for fewer rows, and the sizes for more rows do not "
    "hold them",
    "[plan][sizes][AITER-33]") {
  using enum Dtype;
  struct Shape {
    mla::DtypePair dtype;
    std::int64_t heads, provisioned, rows;
  };
  const Shape shapes[] = {{{fp8, fp8}, 32, 4, 3},
                          {{bf16, bf16}, 32, 4, 3},
                          {{bf16, bf16}, 16, 8, 5},
                          {{bf16, bf16}, 16, 8, 6},
                          {{bf16, bf16}, 16, 8, 7}};
  for (const Shape& s : shapes) {
    Batch batch(all(40, 700), all(40, s.rows));
    batch.input.key = {.arch = Arch::gfx950,
                       .compute_units = ComputeUnits(256),
                       .heads_per_kv_head = Heads(s.heads),
                       .dtype = s.dtype,
                       .max_qo_len = s.rows};
    const auto sizes = *mla::plan::query_sizes({.arch = Arch::gfx950,
                                                .compute_units = ComputeUnits(256),
                                                .batch = mla::Requests(64),
                                                .max_qo_len = s.provisioned,
                                                .heads = Heads(s.heads),
                                                .dtype = s.dtype});
    const auto plan = mla::plan::make_plan(batch.input, sizes);
    REQUIRE_FALSE(plan.ok());
    CHECK_THAT(plan.error().message,
               contains("element 80 of reduce_indptr, which has 65 elements"));
  }
}
