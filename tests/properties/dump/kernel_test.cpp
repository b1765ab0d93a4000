// Claims about what `check` says of the kernel of a step: works that it gets wrong, and a mask that
// it has no build without.
#include <tuple>

#include "tests/properties/dump/launched_step.hpp"

using namespace mla;
using namespace mla::dump;
using namespace mla::dump::test;
using mla::test::contains;

TEST_CASE("check: works of 192 keys and more on gfx950's fp8 kernel for four rows are noted",
          "[cli][check]") {
  const auto noted = [](const json& step) {
    CHECK(checked(step).findings.empty());
    for (const std::string& note : checked(step).notes)
      if (note.find("AITER-10") != std::string::npos) return note;
    return std::string();
  };
  const auto on950 = [](int keys) {
    return json{{"arch", "gfx950"}, {"num_cu", 2}, {"seqlens_kv_indptr", {0, keys, 2 * keys}}};
  };
  CHECK(noted(step_of(16, 4, kFp8, on950(300))) ==
        "a8w8 qh16_qseqlen4_v3 is right for works of 192 keys and more only while loads arrive "
        "neither too early nor too late: work 0 has 300, and there is 1 more: AITER-10 "
        "(docs/findings/aiter.md)");
  CHECK_FALSE(noted(step_of(16, 3, kFp8, on950(192))).empty());
  CHECK_FALSE(noted(step_of(32, 2, kFp8, on950(300))).empty());
  CHECK_FALSE(noted(step_of(64, 1, kFp8, on950(300))).empty());
  CHECK_FALSE(noted(step_of(48, 4, kFp8, on950(300))).empty());
  CHECK(noted(step_of(16, 4, kFp8, on950(191))).empty());
  CHECK(noted(step_of(64, 2, kFp8, on950(300))).empty());   // another kernel
  CHECK(noted(step_of(16, 2, kFp8, on950(300))).empty());   // another kernel
  CHECK(noted(step_of(16, 4, kBf16, on950(300))).empty());  // another kernel
  // Pages of 16 keys, the last one with 8.
  json paged = on950(12);
  paged.update({{"page_size", 16}, {"kv_last_page_lens", {8, 8}}});
  CHECK(noted(step_of(16, 4, kFp8, paged)).empty());
  paged = on950(13);
  paged.update({{"page_size", 16}, {"kv_last_page_lens", {8, 8}}});
  CHECK_THAT(noted(step_of(16, 4, kFp8, paged)), contains("work 0 has 200"));
}

TEST_CASE("check: a planner told of no mask, for a kernel that always masks, is noted",
          "[cli][check][BUG-108]") {
  json step = step_of(16, 2, kBf16, {{"is_causal", false}});
  // SGLang plans so for causal models, and says nothing of the mask.
  const Answer answer = checked(step);
  CHECK(answer.findings.empty());
  CHECK_FALSE(answer.notes.empty());
  step["launch_causal"] = true;
  CHECK(checked(step).findings.empty());
  step["launch_causal"] = false;
  CHECK_FALSE(checked(step).findings.empty());
}
