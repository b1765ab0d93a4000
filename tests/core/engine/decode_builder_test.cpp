// Claims about the decode builder: what a step hands to the kernels, and what it refuses.
#include "core/engine/decode_builder.hpp"

#include <thread>

#include "core/engine/step_hooks.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

struct Step {
  Case spec;
  Batch batch;
  ResolvedShape shape;
  DecodeBuffers buffers;
};

Step step_of(const std::string& line) {
  auto c = parse_case(line);
  REQUIRE(c.ok());
  auto batch = make_batch(*c);
  REQUIRE(batch.ok());
  auto shape = resolve_shape(*c, *batch);
  INFO((shape.ok() ? std::string() : shape.error().message));
  REQUIRE(shape.ok());
  Step step{*c, *batch, *shape, make_decode_buffers(*c, *batch, *shape)};
  return step;
}

const DecodeMetadataBuilder kBuilder({}, StepHooks::none());

}  // namespace

TEST_CASE("builder: index lists follow lengths, blocks and pages", "[builder][P04]") {
  Step s = step_of("mla1:1q2s10_1q2s5;block=4;layout=contiguous;spare=3.minus1");
  const auto md = kBuilder.build(s.batch, s.shape, s.buffers);
  REQUIRE(md.ok());
  CHECK(std::vector(md->qo_indptr.begin(), md->qo_indptr.end()) ==
        std::vector<std::int32_t>{0, 2, 4});
  CHECK(std::vector(md->kv_indptr.begin(), md->kv_indptr.end()) ==
        std::vector<std::int32_t>{0, 10, 15});
  CHECK(std::vector(md->last_page_len.begin(), md->last_page_len.end()) ==
        std::vector<std::int32_t>{1, 1});
  CHECK(md->kv_indices[9] == 9);
  CHECK(md->kv_indices[10] == 12);  // request 1 starts at block 3
  CHECK(md->kv_indices.size() == 18);
  CHECK(md->kv_indices[17] == -1);
  CHECK(md->has_persistent_metadata());
}

TEST_CASE("builder: pages keep the length of the last one", "[builder][P18]") {
  Step s = step_of("mla1:1q1s33_1q1s32;block=32;page=16;layout=contiguous");
  const auto md = kBuilder.build(s.batch, s.shape, s.buffers);
  REQUIRE(md.ok());
  CHECK(md->kv_indptr[1] == 3);
  CHECK(md->last_page_len[0] == 1);
  CHECK(md->last_page_len[1] == 16);
}

TEST_CASE("builder: raised requests step by the kernel's rows and keep their keys",
          "[builder][P12]") {
  Step s = step_of("mla1:1q2s10_1q2s2;qpad=4");
  const auto md = kBuilder.build(s.batch, s.shape, s.buffers);
  REQUIRE(md.ok());
  CHECK(std::vector(md->qo_indptr.begin(), md->qo_indptr.end()) ==
        std::vector<std::int32_t>{0, 4, 8});
  CHECK(std::vector(md->kv_indptr.begin(), md->kv_indptr.end()) ==
        std::vector<std::int32_t>{0, 10, 12});
  // Fewer keys than the batch's own rows are refused as without.
  Step few = step_of("mla1:1q3s2;qpad=4");
  const auto refused = kBuilder.build(few.batch, few.shape, few.buffers);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("2 keys for 3 query rows") != std::string::npos);
}

TEST_CASE("builder: on the row route each row is a request with the keys it may see",
          "[builder][P12]") {
  Step s = step_of("mla1:1q5s9_1q1s3");
  REQUIRE(s.shape.route == Route::persistent_rows);
  const auto md = kBuilder.build(s.batch, s.shape, s.buffers);
  REQUIRE(md.ok());
  CHECK(md->kv_lens == std::vector<std::int64_t>{5, 6, 7, 8, 9, 3});
  CHECK(md->rows() == Rows(6));
  for (int i = 0; i < 5; ++i)  // every row reads the same first page
    CHECK(md->kv_indices[static_cast<std::size_t>(md->kv_indptr[i])] == md->kv_indices[0]);
}

TEST_CASE("builder: rows without keys are named and get no work", "[builder][P10][BUG-074]") {
  Step s = step_of("mla1:1q1s64_1q1s0_1q1s64_2q1s0;cu=1");
  const auto md = kBuilder.build(s.batch, s.shape, s.buffers);
  REQUIRE(md.ok());
  REQUIRE(md->keyless_rows.size() == 3);
  CHECK(md->keyless_rows[0].begin == 1);
  for (std::int64_t w = 0; w < md->plan->works(); ++w) {
    const auto item = md->plan->work(w);
    CHECK(item.kv_end > item.kv_begin);
  }
}

TEST_CASE("builder: fewer keys than rows is refused with both numbers", "[builder][P34][BUG-075]") {
  Step s = step_of("mla1:1q4s9_1q4s3");
  const auto md = kBuilder.build(s.batch, s.shape, s.buffers);
  REQUIRE_FALSE(md.ok());
  CHECK(md.error().bug == "BUG-075");
  CHECK(md.error().message.find("request 1 has 3 keys for 4 query rows") != std::string::npos);
}

TEST_CASE("builder: a buffer that is too small is named, and nothing is written",
          "[builder][P06]") {
  Step s = step_of("mla1:2q1s8");
  s.buffers.kv_indices.assign(15, -9);
  const auto md = kBuilder.build(s.batch, s.shape, s.buffers);
  REQUIRE_FALSE(md.ok());
  CHECK(md.error().message == "kv_indices has 15 entries, 16 are needed");
  CHECK(std::count(s.buffers.kv_indices.begin(), s.buffers.kv_indices.end(), -9) == 15);
}

TEST_CASE("builder: the tail of a shrunken step is constant, and -1 where asked for",
          "[builder][P03][BUG-048]") {
  Step longer = step_of("mla1:4q1s40");
  Step shorter = step_of("mla1:2q1s3");
  const DecodeMetadataBuilder graphs({.max_requests = 4, .fill_tail = true}, StepHooks::none());
  REQUIRE(kBuilder.build(longer.batch, longer.shape, longer.buffers).ok());
  const auto md = graphs.build(shorter.batch, shorter.shape, longer.buffers);
  REQUIRE(md.ok());
  CHECK(longer.buffers.kv_indptr == std::vector<std::int32_t>{0, 3, 6, 6, 6});
  CHECK(longer.buffers.qo_indptr == std::vector<std::int32_t>{0, 1, 2, 2, 2});
  CHECK(std::count(longer.buffers.kv_indices.begin() + 6, longer.buffers.kv_indices.end(), -1) ==
        154);
}

TEST_CASE("builder: two threads use one builder in different modes", "[builder][P30]") {
  const auto work = [](const std::string& line, std::int64_t works, int& wrong) {
    for (int i = 0; i < 200; ++i) {
      const auto c = parse_case(line);
      const auto batch = make_batch(*c);
      const auto shape = resolve_shape(*c, *batch);
      DecodeBuffers buffers = make_decode_buffers(*c, *batch, *shape);
      const auto md = kBuilder.build(*batch, *shape, buffers);
      const bool planned = md.ok() && md->has_persistent_metadata();
      if (!md.ok() || (planned ? md->plan->works() : 0) != works) ++wrong;
    }
  };
  int wrong_a = 0;
  int wrong_b = 0;
  std::thread a([&] { work("mla1:3q4s7;arch=gfx950", 3, wrong_a); });
  std::thread b([&] { work("mla1:5q1s7;planner=none", 0, wrong_b); });
  a.join();
  b.join();
  CHECK(wrong_a == 0);
  CHECK(wrong_b == 0);
}

TEST_CASE("builder: 8 heads are planned as the 16 that the kernel gets",
          "[builder][P14][BUG-021]") {
  Step eight = step_of("mla1:2q1s700;heads=8");
  Step sixteen = step_of("mla1:2q1s700;heads=16");
  const auto a = kBuilder.build(eight.batch, eight.shape, eight.buffers);
  const auto b = kBuilder.build(sixteen.batch, sixteen.shape, sixteen.buffers);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  CHECK(*a->plan == *b->plan);
}
