// All small plans: every batch of one to three requests with 1 to 4 rows and 0 to 9 keys each, on 1
// to 4 compute units, in pages of 1, 2 and 4 tokens, with split caps 1, 2 and none, causal or not.
//
// Every run takes each multiset of requests once (888,480 inputs); the nightly one takes them in
// every order (4,726,080). What is proven, and what not: docs/reference/proofs.md.
//
// MLA_SHARD=i/n in the environment takes every n-th batch from the i-th on: each shard checks how
// many inputs it has, so that n green shards have had every input once (docs/use/shards.md).
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/plan/plan_check.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::plan;

namespace {

struct Request {
  std::int32_t rows = 1;
  std::int32_t keys = 0;
};

constexpr std::int32_t kRows = 4;
constexpr std::int32_t kKeys = 10;  // 0 to 9

Request request_of(int code) {
  return {code % kRows + 1, code / kRows};
}
constexpr int kRequests = kRows * kKeys;

struct Tally {
  std::int64_t inputs = 0;
  std::int64_t planned = 0;
  std::int64_t refused = 0;   // with the number of a known defect
  std::int64_t parallel = 0;  // taken by both kernels
  std::int64_t split = 0;     // plans with a tile in several pieces
};

// One batch under every option.
class Prover {
 public:
  explicit Prover(PlanKey key) : key_(key) {}

  void prove(const std::vector<Request>& requests) {
    for (const std::int64_t page : {1, 2, 4}) {
      lay_out(requests, page);
      for (std::int64_t units = 1; units <= 4; ++units)
        for (const std::int64_t cap : {-1, 1, 2})
          for (const bool causal : {true, false}) prove_one(page, units, cap, causal);
    }
  }

  Tally tally;

 private:
  void lay_out(const std::vector<Request>& requests, std::int64_t page) {
    qo_.assign(1, 0);
    kv_.assign(1, 0);
    last_.clear();
    longest_ = 1;
    uniform_ = requests.front().rows;
    for (const Request& r : requests) {
      qo_.push_back(qo_.back() + r.rows);
      kv_.push_back(kv_.back() + static_cast<std::int32_t>(ceil_div(r.keys, page)));
      last_.push_back(r.keys == 0 ? 1 : static_cast<std::int32_t>((r.keys - 1) % page + 1));
      longest_ = std::max<std::int64_t>(longest_, r.rows);
      if (r.rows != uniform_) uniform_ = -1;
    }
  }

  void prove_one(std::int64_t page, std::int64_t units, std::int64_t cap, bool causal) {
    PlanInput in;
    in.key = key_;
    in.key.compute_units = ComputeUnits(units);
    in.key.max_qo_len = longest_;
    in.qo_indptr = qo_;
    in.kv_indptr = kv_;
    in.last_page_len = last_;
    in.causal = causal;
    in.page_size = page;
    in.kv_granularity = 1;
    in.uniform_qo_len = uniform_;
    in.max_split_per_batch = cap;
    const auto shape = resolve_plan_shape(in.key);
    if (!shape) FAIL(shape.error().message);
    const auto sizes = query_sizes({.arch = in.key.arch,
                                    .compute_units = in.key.compute_units,
                                    .batch = Requests(in.batch()),
                                    .max_qo_len = longest_,
                                    .heads = in.key.heads_per_kv_head,
                                    .dtype = in.key.dtype,
                                    .max_split_per_batch = cap});
    if (!sizes) FAIL(sizes.error().message);
    ++tally.inputs;
    in.kernel = V12Kernel::serial;
    const auto serial = plan_step(in, *sizes);
    in.kernel = V12Kernel::parallel;
    const auto parallel = plan_step(in, *sizes);
    if (!serial) {
      ++tally.refused;
      if (serial.error().bug.empty() || parallel.ok()) FAIL(shown(in) << serial.error().message);
      return;
    }
    ++tally.planned;
    check(in, *shape, *serial);
    if (!parallel) return;
    ++tally.parallel;
    if (!(parallel->work_indptr == serial->work_indptr && parallel->work_info == serial->work_info))
      check(in, *shape, *parallel);  // another valid order of the same works
  }

  void check(const PlanInput& in, const PlanShape& shape, const Plan& plan) {
    const auto violations = plan_check({.plan = plan.view(),
                                        .qo_indptr = qo_,
                                        .kv_indptr = kv_,
                                        .last_page_len = last_,
                                        .shape = shape,
                                        .causal = in.causal,
                                        .kernel_masks = true,
                                        .page_size = in.page_size,
                                        .max_qo_len = longest_});
    if (!violations.empty()) FAIL(shown(in) << violations.front().what);
    if (plan.reduce_indptr.used() > 0 && plan.reduce_indptr.at(plan.reduce_indptr.used() - 1) > 0)
      ++tally.split;
  }

  [[nodiscard]] std::string shown(const PlanInput& in) const {
    std::string text = std::to_string(in.key.compute_units.count()) + " units, pages of " +
                       std::to_string(in.page_size) + ", cap " +
                       std::to_string(in.max_split_per_batch) +
                       (in.causal ? ", causal" : ", not causal") + ", qo_indptr";
    for (const std::int32_t i : qo_) text += " " + std::to_string(i);
    text += ", kv_indptr";
    for (const std::int32_t i : kv_) text += " " + std::to_string(i);
    return text + ": ";
  }

  PlanKey key_;
  std::vector<std::int32_t> qo_, kv_, last_;
  std::int64_t longest_ = 1;
  std::int32_t uniform_ = 1;
};

enum class Order : std::uint8_t { multisets, all };

constexpr std::int64_t kOptions = 3 * 4 * 3 * 2;  // inputs of one batch

// Every count-th batch from the index-th on.
struct Share {
  std::int64_t index = 0;
  std::int64_t count = 1;
  [[nodiscard]] std::int64_t of(std::int64_t batches) const {
    return batches > index ? (batches - index - 1) / count + 1 : 0;
  }
};

// That of MLA_SHARD, which is `i/n`; all batches if it is not set.
Share share_of(const char* text) {
  if (text == nullptr || *text == '\0') return {};
  int index = 0;
  int count = 0;
  int length = 0;
  if (std::sscanf(text, "%5d/%5d%n", &index, &count, &length) != 2 || text[length] != '\0' ||
      index < 1 || index > count)
    FAIL("MLA_SHARD is '" << text << "'; expected i/n with i from 1 to n, as 1/3");
  return {.index = index - 1, .count = count};
}

// Batches of requests, each with a code of at least the one before for multisets; counted, so that
// a share has the same ones wherever it runs.
class Walk {
 public:
  Walk(Prover& prover, Order order, Share share) : prover_(prover), order_(order), share_(share) {}

  void extend(int left, int least) {
    if (left == 0) {
      if (next_++ % share_.count == share_.index) prover_.prove(batch_);
      return;
    }
    for (int code = least; code < kRequests; ++code) {
      batch_.push_back(request_of(code));
      extend(left - 1, order_ == Order::multisets ? code : 0);
      batch_.pop_back();
    }
  }

 private:
  Prover& prover_;
  Order order_;
  Share share_;
  std::vector<Request> batch_;
  std::int64_t next_ = 0;
};

Tally prove_all(const PlanKey& key, Order order, Share share, int largest = 3) {
  Prover prover(key);
  Walk walk(prover, order, share);
  for (int size = 1; size <= largest; ++size) walk.extend(size, 0);
  return prover.tally;
}

const PlanKey kOneTile{.arch = Arch::gfx942, .heads_per_kv_head = Heads(16)};
// 128 fp8 heads on gfx942: a tile holds one row.
const PlanKey kRowTiles{
    .arch = Arch::gfx942, .heads_per_kv_head = Heads(128), .dtype = {Dtype::fp8, Dtype::fp8}};

// `inputs` of all shares. Small shares are not asked to have every kind of plan.
void check_tally(const Tally& tally, std::int64_t inputs, Share share) {
  INFO(tally.planned << " planned, " << tally.refused << " refused, " << tally.parallel
                     << " by both kernels, " << tally.split << " split");
  REQUIRE(inputs % kOptions == 0);
  CHECK(tally.inputs == share.of(inputs / kOptions) * kOptions);
  CHECK(tally.planned + tally.refused == tally.inputs);
  if (share.count > 8) return;
  CHECK(tally.planned > tally.inputs / 2);
  CHECK(tally.parallel > 0);
  CHECK(tally.split > tally.inputs / 20);
}

}  // namespace

TEST_CASE("exhaustive: every small plan keeps every invariant", "[plan][P05]") {
  const Share share = share_of(std::getenv("MLA_SHARD"));
  check_tally(prove_all(kOneTile, Order::multisets, share), 888480, share);
}

TEST_CASE("exhaustive: every small plan with a tile for each row keeps every invariant",
          "[plan][P05]") {
  const Share share = share_of(std::getenv("MLA_SHARD"));
  const Tally tally = prove_all(kRowTiles, Order::multisets, share);
  check_tally(tally, 888480, share);
  if (share.count <= 8) CHECK(tally.refused > 0);  // fewer keys than rows in several tiles
}

TEST_CASE("exhaustive: in every order of the requests", "[.nightly][plan][P05]") {
  const Share share = share_of(std::getenv("MLA_SHARD"));
  check_tally(prove_all(kOneTile, Order::all, share), 4726080, share);
  check_tally(prove_all(kRowTiles, Order::all, share), 4726080, share);
}

TEST_CASE("exhaustive: the shares of any number have together what one run has", "[plan]") {
  const Tally whole = prove_all(kRowTiles, Order::multisets, {}, 2);
  CHECK(whole.inputs == (40 + 40 * 41 / 2) * kOptions);
  for (const std::int64_t count : {2, 3, 7, 1000}) {
    Tally sum;
    for (std::int64_t i = 0; i < count; ++i) {
      const Tally one = prove_all(kRowTiles, Order::multisets, {.index = i, .count = count}, 2);
      sum.inputs += one.inputs;
      sum.planned += one.planned;
      sum.refused += one.refused;
      sum.parallel += one.parallel;
      sum.split += one.split;
    }
    INFO(count << " shares");
    CHECK(sum.inputs == whole.inputs);
    CHECK(sum.planned == whole.planned);
    CHECK(sum.refused == whole.refused);
    CHECK(sum.parallel == whole.parallel);
    CHECK(sum.split == whole.split);
  }
}

TEST_CASE("exhaustive: a share is read strictly", "[plan]") {
  CHECK(share_of(nullptr).count == 1);
  CHECK(share_of("2/3").index == 1);
  CHECK(share_of("2/3").count == 3);
  CHECK(share_of("3/3").of(7) == 2);
  CHECK(share_of("1/3").of(7) == 3);
}
