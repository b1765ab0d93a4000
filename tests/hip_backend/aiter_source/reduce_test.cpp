// AITER's own reduce on the emulated device: it merges what this project's stage 1 left, and the
// step is held to the reference.
#include "hip_backend/aiter/reduce.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "hip_backend/decode/decode_execution.hpp"
#include "hip_backend/device/open_device.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"

using namespace mla;
using namespace mla::hip;

namespace {

const std::vector<std::byte>& code() {
  static const std::vector<std::byte> bytes = [] {
    std::ifstream file(AITER_REDUCE, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(begin, begin + text.size());
  }();
  return bytes;
}

std::int32_t longest_merge(const plan::PlanView& plan) {
  std::int32_t longest = 0;
  for (std::size_t tile = 0; tile + 1 < plan.reduce_indptr.size(); ++tile)
    longest = std::max(longest, plan.reduce_indptr[tile + 1] - plan.reduce_indptr[tile]);
  return longest;
}

// What is wrong with the step of the line when AITER merges; empty: nothing. `pieces` are those of
// the longest merge; 0: two or more.
std::string merged(const std::string& line, int pieces = 0, const gfx::RunOptions& run = {}) {
  const auto device = open_device("emulated:" MLA_ARCH, {.run = run});
  REQUIRE(device.ok());
  const auto spec = parse_case(line + ";arch=" MLA_ARCH);
  REQUIRE(spec.ok());
  std::string reason;
  const auto step = hip::test::try_step(*spec, reason);
  if (!step) return reason;
  const std::int32_t longest = longest_merge(step->metadata.plan->view());
  if (pieces == 0 ? longest < 2 : longest != pieces)
    return "the longest merge has " + std::to_string(longest) + " pieces";
  const aiter::AiterReduce reduce(code());
  const auto result =
      execute_decode(**device, step->launch(),
                     {.run = {.stage1 = own_stage1(), .reduce = reduce}, .through_graph = false});
  if (!result) return result.error().message;
  if (!result->faults.empty()) return result->faults.front().what;
  hip::test::Closeness closeness;
  return hip::test::judge(*step, *result, closeness);
}

}  // namespace

TEST_CASE("aiter's reduce: every number of heads is within the bounds of the reference") {
  for (const int heads : {8, 16, 24, 32, 48, 64, 80, 96, 112, 128}) {
    const std::string line = "mla1:1q1s3000_1q1s90;cu=40;heads=" + std::to_string(heads);
    INFO(line);
    CHECK(merged(line) == "");
  }
}

TEST_CASE("aiter's reduce: 2 to 5, 64, 65, 256, 257 and 300 pieces of a merge are right") {
  for (const int pieces : {2, 3, 4, 5, 64, 65, 256, 257, 300}) {
    const int compute_units = pieces < 5 ? pieces : pieces + 1;
    const std::string line =
        "mla1:1q1s" + std::to_string(pieces * 16) + ";gran=1;cu=" + std::to_string(compute_units);
    INFO(line);
    CHECK(merged(line, pieces) == "");
  }
}

TEST_CASE("aiter's reduce: workgroups that loop over merges, and rows shared by 1 to 16 groups") {
  for (const char* line :
       {"mla1:13q1s900;cu=8", "mla1:9q2s1500;cu=16;heads=128", "mla1:1q4s900_1q2s500;cu=9",
        "mla1:1q8s900;cu=40", "mla1:1q16s900;cu=40;dtype=bf16/bf16", "mla1:2q3s5000;cu=304"}) {
    INFO(line);
    CHECK(merged(line) == "");
  }
}

TEST_CASE("aiter's reduce: a number of heads without a kernel is refused by name") {
  const auto device = open_device("emulated:" MLA_ARCH, {});
  REQUIRE(device.ok());
  ResolvedShape shape;
  shape.plan.plan_heads = Heads{40};
  const Support support = aiter::AiterReduce(code()).supports(**device, shape);
  INFO(support.reason);
  CHECK_FALSE(support.ok);
  CHECK(support.reason.find("AITER's reduce has no kernel for 40 heads") == 0);
}

// AITER-28: the weights of the next row overwrite those that the other wave still reads.
TEST_CASE(
    "aiter's reduce: a check finds a race where a workgroup has rows of 4 pieces, else none") {
  const gfx::RunOptions checked = {.checks = gfx::every_check};
  // One group of workgroups for 4 rows, and 7 pieces.
  const std::string race = merged("mla1:1q4s3000_12q4s20;cu=16", 7, checked);
  INFO(race);
  CHECK(race.find("lds-race: workgroup") != std::string::npos);
  CHECK(race.find("kn_mla_reduce_v1") != std::string::npos);
  CHECK(race.find("ds_write_b32") != std::string::npos);
  CHECK(merged("mla1:1q4s3000_1q4s20;cu=16", 14, checked) == "");  // a workgroup for each row
  CHECK(merged("mla1:1q1s3000_12q1s20;cu=16", 7, checked) == "");  // one row
  CHECK(merged("mla1:13q4s1200;cu=16", 2, checked) == "");         // few pieces need no weights
}

TEST_CASE("aiter's reduce: where a wave runs ahead to its barrier the race makes outputs wrong") {
  const gfx::RunOptions ahead = {.schedule = {.slice = 1000}};
  CHECK(merged("mla1:1q4s3000_12q4s20;cu=16", 7, ahead).find("the reference") != std::string::npos);
  CHECK(merged("mla1:1q4s3000_12q4s20;cu=16", 7, {}) == "");
  CHECK(merged("mla1:1q4s3000_1q4s20;cu=16", 14, ahead) == "");
}
