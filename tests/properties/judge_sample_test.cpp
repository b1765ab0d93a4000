// Claims about sampled references: what is in a sample, and that it changes no value.
#include <algorithm>
#include <set>

#include "core/case/steps.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "cpu_backend/prefill/prefill_reference.hpp"
#include "properties/generate/cost.hpp"
#include "properties/generate/sample.hpp"
#include "properties/generate/tensors.hpp"
#include "properties/step/compare_subject.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/fa/run.hpp"
#include "properties/step/prefill/compare.hpp"
#include "properties/step/prefill/run.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/catch.hpp"
#include "tests/fa_steps.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

std::vector<std::int64_t> sample_of(const Case& c) {
  return sampled_pairs(c, (*make_batch(c)).requests);
}

// Every pair of the sample has the bits that the reference of all pairs has; the others are open.
void check_same(const cpu::ReferenceResult& some, const cpu::ReferenceResult& all,
                const std::vector<std::int64_t>& pairs, std::size_t dims) {
  REQUIRE_FALSE(pairs.empty());
  REQUIRE(pairs.size() < all.lse.size());
  for (std::size_t pair = 0; pair < all.lse.size(); ++pair) {
    const bool in = std::binary_search(pairs.begin(), pairs.end(), static_cast<std::int64_t>(pair));
    const auto same = [&](const std::vector<double>& a, const std::vector<double>& b) {
      return std::equal(&a[pair * dims], &a[pair * dims] + dims, &b[pair * dims]);
    };
    CHECK((some.lse_bound[pair] == cpu::kNotEvaluated) != in);
    CHECK((some.out_bound[pair * dims] == cpu::kNotEvaluated) != in);
    if (!in) continue;
    CHECK(some.lse[pair] == all.lse[pair]);
    CHECK(some.lse_bound[pair] == all.lse_bound[pair]);
    CHECK(same(some.out, all.out));
    CHECK(same(some.out_bound, all.out_bound));
  }
}

}  // namespace

TEST_CASE("sample: a cheap case is judged on every pair", "[judge]") {
  CHECK(sample_of(case_of("mla1:4q4s100;heads=16")).empty());
  CHECK(sample_of(case_of("mla1:1q0s0")).empty());
  CHECK_FALSE(sample_of(case_of("mla1:40q4s1k;heads=16")).empty());
}

TEST_CASE("sample: the corners of the longest and the shortest request are in it", "[judge]") {
  const Case c = case_of("mla1:100q4s200_1q4s4_1q4s9k_100q4s300;heads=128;pad=6");
  const auto pairs = sample_of(c);
  REQUIRE(std::is_sorted(pairs.begin(), pairs.end()));
  for (const std::int64_t row : {400, 403, 404, 407})
    for (const std::int64_t head : {0, 15, 16, 127}) {
      INFO("row " << row << " head " << head);
      CHECK(std::binary_search(pairs.begin(), pairs.end(), row * 128 + head));
    }
  std::set<std::int64_t> requests;
  for (const std::int64_t pair : pairs) requests.insert(pair / 128 / 4);
  for (const std::int64_t request : {0, 15, 16, 17, 31, 32, 33, 101, 201, 202, 207})
    CHECK(requests.count(request) == 1);
}

TEST_CASE("sample: the case alone decides", "[judge]") {
  const Case c = case_of("mla1:300q2s100;heads=16");
  CHECK(sample_of(c) == sample_of(c));
  Case other = c;
  other.data.seed = 43;
  CHECK(sample_of(c) != sample_of(other));
  other = c;
  other.schedule_seed = 9;
  CHECK(sample_of(c) == sample_of(other));
}

TEST_CASE("sample: the evaluated pairs have the bits of the whole reference", "[judge]") {
  const Case c = case_of("mla1:3q3s2500_9q3s700;heads=24;dtype=fp8/fp8;scale=0.5/2");
  const Batch batch = *make_batch(c);
  const DecodeTensors tensors = make_tensors(c, batch);
  const auto refer = [&](std::span<const std::int64_t> pairs) {
    return cpu::sampled_reference({.batch = batch,
                                   .tensors = tensors,
                                   .arch = c.arch,
                                   .dtype = c.dtype,
                                   .model_heads = c.heads,
                                   .causal = c.causal},
                                  pairs);
  };
  check_same(refer(sample_of(c)), refer({}), sample_of(c), kValueDim);
}

TEST_CASE("sample: a wrong element outside of it is seen if it is not finite", "[judge]") {
  const Case c = case_of("mla1:64q1s300;heads=16");
  Subject subject(c, cpu_backend(), nullptr);
  const auto pairs = sample_of(c);
  REQUIRE(compare_with_reference(subject).verdict == Verdict::pass);
  std::int64_t outside = 0;
  while (std::binary_search(pairs.begin(), pairs.end(), outside)) ++outside;
  const auto judged = [&](std::int64_t pair, std::uint16_t bits) {
    DecodeResult result = *subject.result();
    result.out[static_cast<std::size_t>(pair * kValueDim + 3)] = bits;
    return compare({.result = result,
                    .reference = *subject.reference(),
                    .metadata = *subject.metadata(),
                    .requests = subject.batch()->requests,
                    .heads = c.heads});
  };
  CHECK(judged(outside, 0x4170).verdict == Verdict::pass);  // 15, and no judge looks
  CHECK(judged(outside, 0x7F80).verdict == Verdict::fail);  // infinity
  CHECK(judged(outside, kPoisonBf16).verdict == Verdict::fail);
  const Outcome inside = judged(pairs.front(), 0x4170);
  CHECK(inside.verdict == Verdict::fail);
  CHECK(inside.message.find("attention judged on " + std::to_string(pairs.size()) +
                            " of 1024 rows x heads") != std::string::npos);
}

TEST_CASE("sample: prefill and FA steps are sampled as well, with the bits of all", "[judge]") {
  const Case prefill = case_of("mla1:1q200s300_1q150s150;heads=32;arch=gfx950;kind=prefill");
  Subject subject(prefill, cpu_backend(), nullptr);
  const auto& run = subject.prefill();
  REQUIRE(run.ok());
  const auto reference = [](const PrefillStep& step, std::span<const std::int64_t> pairs) {
    return cpu::prefill_reference({.batch = step.batch,
                                   .tensors = step.tensors,
                                   .arch = step.spec.arch,
                                   .arithmetic = step.shape.arithmetic(),
                                   .causal = step.spec.causal,
                                   .merges = std::vector<std::int64_t>(2, 1),
                                   .pairs = pairs});
  };
  const PrefillStep& step = *run->steps.front();
  check_same(reference(step, sample_of(prefill)), reference(step, {}), sample_of(prefill),
             prefill::kVDim);
  CHECK(compare(step, reference_of(step)).verdict == Verdict::pass);

  const Case fa = case_of("mla1:2q1s900_1q40s900;heads=64;kvheads=4;block=16;kind=fa;window=100");
  const auto steps = test::fa_steps(single_steps(fa), 1);
  REQUIRE(steps.ok());
  const cpu::ReferenceResult reference_of_fa = reference_of(steps->front());
  const auto open = std::count(reference_of_fa.out_bound.begin(), reference_of_fa.out_bound.end(),
                               cpu::kNotEvaluated);
  CHECK(open > 0);
  CHECK(std::ssize(reference_of_fa.out) == open + std::ssize(sample_of(fa)) * 128);
}

TEST_CASE("cost: one request with a million keys is executed, a batch of them is not", "[judge]") {
  CHECK_FALSE(why_not_executed(case_of("mla1:1q1s1024k"), {}).has_value());
  const auto why = why_not_executed(case_of("mla1:64q1s128k"), {});
  REQUIRE(why.has_value());
  CHECK(why->message ==
        "attention is not executed: 167 million (row, head, key) products and 9220 MiB of tensors; "
        "the limits are 22 million and 2048 MiB (replay --any-size has none)");
  Subject subject(case_of("mla1:64q1s128k"), cpu_backend(), nullptr);
  CHECK(subject.metadata().ok());
  CHECK_FALSE(subject.result().ok());
}
