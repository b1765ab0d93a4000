// Claims about what no backend can run: it is refused, with the values.
#include "core/engine/launch.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace mla;

namespace {

ResolvedShape shape_of(const char* line) {
  const auto c = parse_case(line);
  REQUIRE(c.ok());
  const auto batch = make_batch(*c);
  REQUIRE(batch.ok());
  auto shape = resolve_shape(*c, *batch);
  REQUIRE(shape.ok());
  return *shape;
}

}  // namespace

TEST_CASE("support: resolved shapes are supported on every route", "[launch]") {
  for (const char* line : {"mla1:1q1s40", "mla1:1q1s40;planner=none", "mla1:2q2s40;heads=32",
                           "mla1:1q1s40;block=16;page=16"})
    CHECK(common_support(shape_of(line)).ok);
}

TEST_CASE("support: an fp8 query over a bf16 cache is refused", "[launch]") {
  ResolvedShape shape = shape_of("mla1:1q1s40");
  shape.dtype = {Dtype::fp8, Dtype::bf16};
  CHECK(common_support(shape).reason == "no kernel takes an fp8 query with a bf16 cache");
}

TEST_CASE("support: a page size of 0 is refused", "[launch]") {
  ResolvedShape shape = shape_of("mla1:1q1s40");
  shape.page_size = 0;
  CHECK(common_support(shape).reason == "page size 0 is not positive");
}

TEST_CASE("support: folded heads of ragged requests are refused", "[launch]") {
  ResolvedShape shape = shape_of("mla1:2q2s40;heads=32");
  REQUIRE(shape.fold_ratio() == 2);
  shape.uniform_qo_len = -1;
  CHECK(common_support(shape).reason == "heads folded 2 times need requests of equal query length");
}

TEST_CASE("support: no splits, or splits of no tokens, are refused on the split route only",
          "[launch]") {
  ResolvedShape shape = shape_of("mla1:1q1s40;planner=none");
  shape.kv_splits = 0;
  CHECK_FALSE(common_support(shape).ok);
  shape.kv_splits = 2;
  shape.split_granularity = 0;
  CHECK(common_support(shape).reason == "2 splits of 0 tokens are none");
  ResolvedShape planned = shape_of("mla1:1q1s40");
  planned.kv_splits = 0;
  CHECK(common_support(planned).ok);
}

TEST_CASE("launch: a list that is shorter or longer than the requests is refused by its name",
          "[launch]") {
  const std::vector<std::int32_t> qo{0, 1, 2}, kv{0, 3, 6}, pages(6, 0), last{1, 1};
  const auto refusal = [&](auto change) {
    DecodeMetadata md;
    md.shape = shape_of("mla1:2q1s3;planner=none");
    md.qo_indptr = qo;
    md.kv_indptr = kv;
    md.kv_indices = pages;
    md.last_page_len = last;
    md.kv_lens = {3, 3};
    change(md);
    const auto bad = check_launch({md, DecodeTensors{}});
    return bad ? bad->message : "accepted";
  };
  // What is refused if the lists are right.
  CHECK(refusal([](DecodeMetadata&) {}).starts_with("q has 0 bytes"));
  CHECK(refusal([](DecodeMetadata& md) { md.qo_indptr = {}; }) == "qo_indptr has 0 entries, not 1");
  CHECK(refusal([](DecodeMetadata& md) { md.kv_indptr = md.kv_indptr.first(2); }) ==
        "kv_indptr has 2 entries, not 3");
  CHECK(refusal([](DecodeMetadata& md) { md.last_page_len = md.last_page_len.first(1); }) ==
        "last_page_len has 1 entries, not 2");
  CHECK(refusal([](DecodeMetadata& md) { md.kv_lens.push_back(1); }) ==
        "kv_lens has 3 entries, not 2");
}
