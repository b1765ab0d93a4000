// Claims about the planners over random batches. A failure prints the batch.
#include <map>
#include <random>
#include <sstream>

#include "core/plan/v11_sort.hpp"
#include "tests/catch.hpp"
#include "tests/core/plan/batches.hpp"

namespace {

using mla::Arch;
using mla::ComputeUnits;
using mla::Heads;
using mla::plan::Plan;
using mla::plan::PlannerVersion;
using mla::plan::V12Kernel;
using mla::plan_test::all;
using mla::plan_test::Batch;
using mla::plan_test::Lengths;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  std::int64_t of(const Lengths& choices) {
    return choices[static_cast<std::size_t>(
        between(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

// Even, ragged, dominated by one request, or around the borders of a block.
Lengths draw_keys(Random& random, std::int64_t shortest) {
  Lengths keys;
  const std::int64_t kind = random.between(0, 3);
  const std::int64_t even = random.between(shortest, 4000);
  const std::int64_t count = random.of({1, 2, 3, 7, 20, 64, 90, 200});
  for (std::int64_t r = 0; r < count; ++r) {
    if (kind == 0) keys.push_back(even);
    if (kind == 1) keys.push_back(random.between(shortest, 3000));
    if (kind == 2) keys.push_back(shortest + random.between(0, r == 0 ? 60000 : 60));
    if (kind == 3)
      keys.push_back(std::max(shortest, 16 * random.between(0, 9) + random.between(-1, 1)));
  }
  return keys;
}

std::string shown(const Batch& batch) {
  std::ostringstream text;
  const mla::plan::PlanInput& in = batch.input;
  text << "units " << in.key.compute_units.count() << " heads " << in.key.heads_per_kv_head.count()
       << " q " << in.uniform_qo_len << " max " << in.key.max_qo_len << " g " << in.kv_granularity
       << " cap " << in.max_split_per_batch << " causal " << in.causal << " kv_indptr";
  for (const std::int32_t i : batch.kv_indptr) text << ' ' << i;
  text << " qo_indptr";
  for (const std::int32_t i : batch.qo_indptr) text << ' ' << i;
  return text.str();
}

// Everything that v1.2's parallel kernel accepts.
void draw_options(Random& random, Batch& batch) {
  batch.input.key.compute_units = ComputeUnits(random.of({1, 2, 5, 80, 256, 304}));
  batch.input.kv_granularity = random.of({1, 4, 16, 16, 16, 32, 128});
  batch.input.max_split_per_batch = random.of({-1, -1, -1, 1, 2, 32});
  if (random.one_in(4)) batch.input.uniform_qo_len = -1;
}

// Pieces of every tile in the order of their keys.
using Tiles = std::map<std::pair<std::int32_t, std::int32_t>, std::vector<mla::plan::WorkItem>>;

Tiles tiles_of(const Plan& plan) {
  Tiles tiles;
  for (std::int64_t w = 0; w < plan.works(); ++w) {
    const auto item = plan.work(w);
    tiles[{item.batch, item.q_begin}].push_back(item);
  }
  for (auto& [tile, pieces] : tiles)
    std::sort(pieces.begin(), pieces.end(),
              [](const auto& a, const auto& b) { return a.kv_begin < b.kv_begin; });
  return tiles;
}

// The first thing that is wrong with how the tiles of a uniform, page_size 1 batch are covered.
std::string uncovered(const Batch& batch, const Plan& plan, std::int64_t ratio) {
  const std::int64_t q = batch.input.uniform_qo_len;
  const Tiles tiles = tiles_of(plan);
  std::vector<std::int64_t> rows(batch.last_page_len.size() * static_cast<std::size_t>(ratio), 0);
  for (const auto& [tile, pieces] : tiles) {
    const auto entry = static_cast<std::size_t>(tile.first);
    const std::size_t r = entry / static_cast<std::size_t>(ratio);
    const std::int64_t end = batch.kv_indptr[r + 1];
    rows[entry] += pieces[0].q_end - pieces[0].q_begin;
    const std::int64_t later = (tile.first + 1) * q - pieces[0].q_end;  // rows of later tiles
    std::int64_t next = batch.kv_indptr[r];
    for (const auto& piece : pieces) {
      if (piece.kv_begin != next || piece.kv_end + piece.kv_offset != end ||
          (piece.partial_row == -1) != (pieces.size() == 1))
        return "entry " + std::to_string(entry) + " from row " + std::to_string(tile.second);
      next = piece.kv_end;
    }
    const std::int64_t seen = end - (batch.input.causal ? later : 0);
    if (next < seen || next > end) return "entry " + std::to_string(entry) + " misses keys";
  }
  for (std::size_t entry = 0; entry < rows.size(); ++entry)
    if (rows[entry] != q) return "entry " + std::to_string(entry) + " misses rows";
  return "";
}

}  // namespace

TEST_CASE("planner v1.2: both kernels agree on every batch without empty requests",
          "[plan][BUG-074]") {
  Random random(20260801);
  for (int round = 0; round < 6000; ++round) {
    const Lengths keys = draw_keys(random, 1);
    Batch batch(keys, all(keys.size(), 1));
    draw_options(random, batch);
    batch.input.kernel = V12Kernel::serial;
    const auto serial = batch.make();
    batch.input.kernel = V12Kernel::parallel;
    const auto parallel = batch.make();
    INFO("round " << round << ": " << shown(batch));
    REQUIRE(serial.ok());
    REQUIRE(parallel.ok());
    if (!(*serial == *parallel)) FAIL("the kernels differ");
  }
}

TEST_CASE("planner v1.2: the parallel kernel loses nothing but empty requests", "[plan][BUG-074]") {
  Random random(7);
  std::size_t lost = 0;
  for (int round = 0; round < 2000; ++round) {
    Lengths keys = draw_keys(random, 1);
    for (std::int64_t& n : keys)
      if (random.one_in(3)) n = 0;
    Batch batch(keys, all(keys.size(), 1));
    draw_options(random, batch);
    const auto plan = batch.make();
    INFO("round " << round << ": " << shown(batch));
    REQUIRE(plan.ok());
    const Tiles tiles = tiles_of(*plan);
    for (std::size_t r = 0; r < keys.size(); ++r) {
      const auto r32 = static_cast<std::int32_t>(r);
      if (tiles.count({r32, r32}) != 0) continue;
      ++lost;
      if (keys[r] != 0) FAIL("request " << r << " has no work");
    }
  }
  CHECK(lost > 100);  // the batches do reach the defect
}

TEST_CASE("planners: every tile's pieces cover its keys once, in order", "[plan][P05]") {
  const PlannerVersion version =
      GENERATE(PlannerVersion::v1_0, PlannerVersion::v1_1, PlannerVersion::v1_2);
  Random random(static_cast<std::uint64_t>(version) + 99);
  std::size_t planned = 0;
  for (int round = 0; round < 1500; ++round) {
    const bool v10 = version == PlannerVersion::v1_0;
    const std::int64_t q = random.of({1, 1, 2, 4, 8});
    const Lengths keys = draw_keys(random, v10 ? 400 : q);
    Batch batch(keys, all(keys.size(), q));
    batch.input.version = version;
    batch.input.key.compute_units = ComputeUnits(random.of({8, 80, 304}));
    batch.input.key.arch = random.one_in(2) ? Arch::gfx942 : Arch::gfx950;
    batch.input.key.heads_per_kv_head = Heads(v10 ? random.of({16, 32}) : random.of({16, 48, 128}));
    batch.input.max_split_per_batch = v10 ? 16 : -1;
    batch.input.causal = random.one_in(2);
    const auto plan = batch.make();
    // Buffers that AITER sizes too small, and shapes without a planner, are other claims.
    if (!plan.ok()) continue;
    ++planned;
    INFO("round " << round << ": " << shown(batch));
    const auto shape = version == PlannerVersion::v1_2 ? resolve_plan_shape(batch.input.key)
                                                       : resolve_plan_shape_v11(batch.input.key);
    const std::string problem = uncovered(batch, *plan, shape->fold_ratio);
    if (!problem.empty()) FAIL(problem);
  }
  CHECK(planned > 1000);
}

TEST_CASE("planner v1.1: its network sorts up to 128 costs and permutes more", "[plan][sort]") {
  Random random(3);
  bool ever_unsorted = false;
  for (const std::int64_t count : {1, 2, 63, 64, 65, 100, 128, 129, 200, 256, 300, 700}) {
    std::vector<std::int64_t> costs;
    for (std::int64_t i = 0; i < count; ++i) costs.push_back(random.between(1, 5000));
    const auto order = mla::plan::v11_order(costs);
    REQUIRE(order.size() == costs.size());
    bool sorted = true;
    for (std::size_t i = 1; i < order.size() && sorted; ++i) {
      const auto at = [&](std::size_t k) {
        return order[k] < count ? costs[static_cast<std::size_t>(order[k])] : 0;
      };
      sorted = at(i) <= at(i - 1);
    }
    INFO(count << " costs");
    if (count <= 128) CHECK(sorted);
    ever_unsorted = ever_unsorted || !sorted;
    auto unique = order;
    std::sort(unique.begin(), unique.end());
    CHECK(std::adjacent_find(unique.begin(), unique.end()) == unique.end());
  }
  CHECK(ever_unsorted);
}
