// Claims about step facts: what a ledger may ask of a launch.
#include "properties/step/decode/step_facts.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/numeric/fp8.hpp"
#include "core/say.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/properties/planned_step.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

std::int64_t number(std::string_view fact, const DecodeLaunch& launch) {
  const Fact* found = find_fact(fact);
  REQUIRE(found != nullptr);
  return found->number(launch);
}
std::int64_t number(std::string_view fact, std::string_view line) {
  INFO(fact << " of " << line);
  return number(fact, planned_step(line)->launch());
}

// A step of fp8 whose first elements are `query` in every query, `key` in every key and `zero` in
// the key on page 0; all others are 0.
std::unique_ptr<PlannedStep> first_elements(std::string_view line, float query, float key,
                                            float zero) {
  auto step = planned_step(line);
  DecodeTensors& t = step->tensors;
  const Fp8Variant fp8 = step->metadata.shape.fp8;
  const auto fill = [fp8](std::vector<std::byte>& bytes, float value) {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    for (std::size_t i = 0; i < bytes.size(); i += static_cast<std::size_t>(kKeyDim))
      bytes[i] = std::byte{fp8_from_float(value, fp8)};
  };
  fill(t.q, query);
  fill(t.cache.bytes, key);
  if (t.cache.first_slot == 0) t.cache.bytes[0] = std::byte{fp8_from_float(zero, fp8)};
  return step;
}

// In nats, for elements without scales.
std::int64_t lead_of(double elements, const PlannedStep& step) {
  return static_cast<std::int64_t>(std::ceil(elements * double{step.tensors.softmax_scale}));
}

}  // namespace

TEST_CASE("facts: fewest_rows is that of the requests with rows and keys", "[judge][ledger]") {
  CHECK(number("fewest_rows", "mla1:1q2s30_1q1s110;dtype=fp8/fp8") == 1);
  CHECK(number("fewest_rows", "mla1:1q2s30_1q2s110;dtype=fp8/fp8") == 2);
  CHECK(number("fewest_rows", "mla1:1q2s30_1q1s0_1q0s0") == 2);
  CHECK(number("fewest_rows", "mla1:1q1s0") == 0);
}

// 2 splits of tiles of 16 for the merge, of 64 for the kernel.
TEST_CASE("facts: an unfilled split is one that the merge counts and the kernel does not",
          "[judge][ledger]") {
  const std::string rest = ";dtype=fp8/fp8;planner=none;cu=80";
  REQUIRE(number("splits", "mla1:1q2s300_1q2s65" + rest) == 2);
  CHECK(number("unfilled_split", "mla1:1q2s300_1q2s64" + rest) == 1);
  CHECK(number("unfilled_split", "mla1:1q2s300_1q2s65" + rest) == 0);
  CHECK(number("unfilled_split", "mla1:1q2s300_1q2s16" + rest) == 0);
  CHECK(number("unfilled_split", "mla1:1q2s300_1q2s17" + rest) == 1);
  // Tiles of 128 for the kernel of one row on gfx950, of 64 for the merge.
  const std::string one = ";dtype=fp8/fp8;planner=none;arch=gfx950";
  CHECK(number("unfilled_split", "mla1:1q1s65_1q1s193" + one) == 1);
  CHECK(number("unfilled_split", "mla1:1q1s128_1q1s193" + one) == 1);
  CHECK(number("unfilled_split", "mla1:1q1s129_1q1s193" + one) == 0);
  // Kernel and merge count alike.
  CHECK(number("unfilled_split", "mla1:1q1s300_1q1s17" + rest) == 0);
  CHECK(number("unfilled_split", "mla1:1q2s300_1q2s64;dtype=fp8/fp8;cu=80") == 0);
}

TEST_CASE("facts: a hidden split has no key that the first row of its request sees",
          "[judge][ledger]") {
  const std::string rest = ";dtype=fp8/fp8;planner=none;cu=80";
  CHECK(number("hidden_split", "mla1:1q2s300_1q2s64" + rest) == 0);
  CHECK(number("hidden_split", "mla1:1q2s300_1q2s65" + rest) == 1);
  CHECK(number("hidden_split", "mla1:1q2s300_1q2s66" + rest) == 0);
  CHECK(number("hidden_split", "mla1:1q1s300_1q1s65" + rest) == 0);
  CHECK(number("hidden_split", "mla1:1q4s300_1q4s35;heads=128" + rest) == 1);
  CHECK(number("hidden_split", "mla1:1q4s300_1q4s36;heads=128" + rest) == 0);
}

TEST_CASE("facts: a straddled tile is the last of 32, seen by some rows of a work that has three",
          "[judge][ledger]") {
  const auto of = [](std::string_view requests, std::string_view rest) {
    return number("straddled_tile", say("mla1:", requests, ";arch=gfx950", rest));
  };
  const std::string_view one = ";cu=1";
  // The first row sees 63 of 65 keys, or 64 of 66, which are whole tiles.
  CHECK(of("1q3s65", one) == 1);
  CHECK(of("1q3s66", one) == 0);
  CHECK(of("1q3s64", one) == 0);
  CHECK(of("1q3s97", one) == 1);
  CHECK(of("1q4s66", one) == 1);
  CHECK(of("1q4s67", one) == 0);
  CHECK(of("1q2s65", one) == 0);
  CHECK(of("1q4s33", one) == 0);
  CHECK(of("1q3s65", ";cu=1;causal=0") == 0);
  CHECK(of("1q3s66_1q3s65_1q3s67", one) == 1);
  // Rows 0 to 2 of five see 65 keys at most, rows 3 and 4 all 67.
  CHECK(of("1q5s66", one) == 0);
  CHECK(of("1q5s67", one) == 1);
  // The first of two works of four rows has 67 keys: its last row sees 64, which are whole tiles.
  const std::string_view two = ";cu=1;heads=32;dtype=fp8/fp8";
  CHECK(of("1q8s68", two) == 0);
  CHECK(of("1q8s69", two) == 1);
  // It is the work that counts: a piece of 65 keys, one of 50.
  CHECK(of("1q4s177", one) == 0);
  CHECK(of("1q4s177", ";cu=4") == 1);
  CHECK(of("1q4s98", one) == 1);
  CHECK(of("1q4s98", ";cu=8") == 0);
}

TEST_CASE("facts: a limit is early where the first row of a work misses a key before the last tile",
          "[judge][ledger]") {
  const auto of = [](std::string_view requests, std::string_view rest) {
    return number("early_limit", say("mla1:", requests, ";arch=gfx950;cu=1", rest));
  };
  CHECK(of("1q3s33", "") == 1);  // 31 of the 32 keys before key 32
  CHECK(of("1q2s33", "") == 0);
  CHECK(of("1q4s34", "") == 1);
  CHECK(of("1q4s35", "") == 0);
  CHECK(of("1q3s32", "") == 0);
  CHECK(of("1q3s20", "") == 0);
  CHECK(of("1q3s33", ";causal=0") == 0);
  CHECK(of("1q3s40_1q3s65", "") == 1);
}

TEST_CASE("facts: fold is how many kernel requests a request becomes", "[judge][ledger]") {
  CHECK(number("fold", "mla1:1q2s9;heads=48;dtype=fp8/fp8;arch=gfx950") == 3);
  CHECK(number("fold", "mla1:1q2s9;heads=32;dtype=fp8/fp8;arch=gfx950") == 1);
}

// 40 rows of 129 keys: the tile that begins with key 128 is the third of the first of two splits.
TEST_CASE("facts: without a plan each split has its own last tile", "[judge][ledger]") {
  const auto of = [](std::string_view requests, std::int64_t splits) {
    const std::string line =
        say("mla1:", requests, ";heads=32;arch=gfx950;planner=none;cu=", splits);
    REQUIRE(number("splits", line) == splits);
    return number("straddled_tile", line);
  };
  CHECK(of("1q3s65", 1) == 1);
  CHECK(of("1q3s66", 1) == 0);
  CHECK(of("1q19s50", 1) == 0);
  CHECK(of("1q20s48", 1) == 0);
  CHECK(of("1q20s50", 1) == 1);
  CHECK(of("1q34s193", 2) == 0);
  CHECK(of("1q36s193", 2) == 1);
  CHECK(of("1q34s161", 2) == 0);
  CHECK(of("1q35s161", 2) == 1);
  CHECK(of("1q40s129", 2) == 1);
  CHECK(of("1q40s200", 2) == 0);
}

TEST_CASE("facts: a work without keys is one that has rows", "[judge][ledger]") {
  CHECK(number("keyless_work", "mla1:1q1s0_1q1s50;cu=1") == 0);  // the core makes none
  const auto step = planned_step("mla1:2q1s50;cu=1");
  const auto with = [&](std::int32_t rows, std::int32_t pages) {
    plan::WorkItem first = step->metadata.plan->work(0);
    first.q_end = first.q_begin + rows;
    first.kv_end = first.kv_begin + pages;
    step->metadata.plan->set_work(0, first);
    return number("keyless_work", step->launch());
  };
  CHECK(with(1, 0) == 1);
  CHECK(with(1, -2) == 1);
  CHECK(with(0, 0) == 0);
  CHECK(with(1, 1) == 0);
}

TEST_CASE("facts: rows shift where a request with keys has fewer than the longest, or follows",
          "[judge][ledger]") {
  CHECK(number("shifted_rows", "mla1:2q2s30") == 0);
  CHECK(number("shifted_rows", "mla1:1q2s30_1q1s30") == 1);
  CHECK(number("shifted_rows", "mla1:1q2s30_1q1s0") == 0);
  CHECK(number("shifted_rows", "mla1:1q1s0_1q2s30") == 1);
  CHECK(number("shifted_rows", "mla1:1q2s30_1q0s0") == 0);
  CHECK(number("shifted_rows", "mla1:1q2s30_1q0s30") == 0);
  CHECK(number("shifted_rows", "mla1:1q0s0_1q2s30") == 1);
}

TEST_CASE("facts: page 0 is finite where the adapter puts zeros, and unbacked before a far cache",
          "[judge][ledger]") {
  const auto page_zero = [](const char* line) {
    INFO(line);
    const Fact* fact = find_fact("page_zero");
    REQUIRE(fact != nullptr);
    return fact->word(planned_step(line)->launch());
  };
  CHECK(page_zero("mla1:1q1s9;layout=contiguous") == "finite");
  CHECK(page_zero("mla1:1q1s9;origin=9") == "finite");
  // 20 GiB hold 18,641,351 keys of bf16.
  CHECK(page_zero("mla1:1q1s9;origin=18641300") == "finite");
  CHECK(page_zero("mla1:1q1s9;origin=18641351") == "unbacked");
}

TEST_CASE("facts: cache_gib is how many whole GiB lie before the end of the cache",
          "[judge][ledger]") {
  CHECK(number("cache_gib", "mla1:1q1s9") == 0);
  // 4 GiB hold 3,728,270 keys of bf16 and a part of one, and twice as many of fp8. The case has
  // some slots more than keys.
  CHECK(number("cache_gib", "mla1:1q1s1;origin=3728250") == 3);
  CHECK(number("cache_gib", "mla1:1q1s1;origin=3728270") == 4);
  CHECK(number("cache_gib", "mla1:1q1s1;origin=3728270;dtype=fp8/fp8") == 2);
  CHECK(number("cache_gib", "mla1:1q1s1;origin=7456520;dtype=fp8/fp8") == 3);
  CHECK(number("cache_gib", "mla1:1q1s1;origin=7456540;dtype=fp8/fp8") == 4);
}

TEST_CASE("facts: page_zero_lead is by how much page 0 outscores the keys of an inner work",
          "[judge][ledger]") {
  // Works of 16 keys each, and of the last 17.
  const std::string four = "mla1:1q2s65;dtype=fp8/fp8;layout=contiguous";
  const auto high = first_elements(four, 16, 0, 16);
  CHECK(lead_of(256, *high) > 5);
  CHECK(number("page_zero_lead", high->launch()) == lead_of(256, *high));
  const auto equal = first_elements(four, 16, 4, 4);
  CHECK(number("page_zero_lead", equal->launch()) == 0);
  const auto low = first_elements(four, 16, 4, -4);
  CHECK(number("page_zero_lead", low->launch()) == 0);
  // The adapter has zeros where the case has no page 0.
  const auto unbacked = first_elements(four + ";origin=9", 16, -16, 0);
  CHECK(number("page_zero_lead", unbacked->launch()) == lead_of(256, *unbacked));
  // One work, which ends with its request; works of whole tiles; bf16.
  for (const char* line : {"mla1:1q2s65;dtype=fp8/fp8;layout=contiguous;cu=1",
                           "mla1:1q2s128;dtype=fp8/fp8;layout=contiguous;cu=2;gran=64"}) {
    INFO(line);
    CHECK(number("page_zero_lead", first_elements(line, 16, 0, 16)->launch()) == 0);
  }
  CHECK(number("page_zero_lead", "mla1:1q2s65;layout=contiguous") == 0);
}
