// The parts of the search, each for itself: what a slot takes, how tiles are placed, what a move
// may change.
#include "core/time/plan_draft.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "core/time/draft_moves.hpp"
#include "core/time/draft_packer.hpp"
#include "tests/catch.hpp"

namespace {

using namespace mla::timing;

constexpr Stage1Costs kCosts{
    .piece_us = 2, .key_us = 0.01, .memory_us = 0.0003, .matrix_us = 0.0004, .moved_rows_us = 3};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

 private:
  std::mt19937_64 engine_;
};

DraftTiles random_tiles(Random& random) {
  DraftTiles out{.tiles = {}, .block_keys = 32, .slots = random(1, 9)};
  for (std::int64_t i = random(1, 20); i > 0; --i)
    out.tiles.push_back({.whole = {}, .blocks = random(0, 4) == 0 ? random(1, 90) : random(1, 9)});
  out.most_pieces = random(1, 12);
  out.most_works = random(20, 60);
  out.most_merged = random(0, 40);
  return out;
}

struct Sums {
  std::map<std::int32_t, std::int64_t> blocks, pieces;  // of a tile
  std::map<std::int32_t, SlotLoad> slots;               // with blocks for keys
  std::int64_t merged = 0;
};

Sums sums_of(const Draft& draft) {
  Sums out;
  for (const DraftPiece& p : draft) {
    CHECK(p.blocks > 0);
    out.blocks[p.tile] += p.blocks;
    ++out.pieces[p.tile];
    ++out.slots[p.slot].pieces;
    out.slots[p.slot].keys += p.blocks;
  }
  for (const auto& [tile, n] : out.pieces) out.merged += n > 1 ? n : 0;
  return out;
}

double slowest(const SlotCurve& curve, const Sums& sums) {
  double us = 0;
  for (const auto& [slot, load] : sums.slots) us = std::max(us, curve.time(load.pieces, load.keys));
  return us;
}

void check_whole(const DraftTiles& tiles, const Sums& sums) {
  REQUIRE(sums.blocks.size() == tiles.tiles.size());
  for (const auto& [tile, blocks] : sums.blocks)
    CHECK(blocks == tiles.tiles[static_cast<std::size_t>(tile)].blocks);
  for (const auto& [slot, load] : sums.slots) CHECK((slot >= 0 && slot < tiles.slots));
}

// The latest of a few times by which the tiles can be placed without more pieces than that.
bool packed(const DraftTiles& tiles, const SlotCurve& curve, std::int64_t cap, double& end,
            Draft& draft) {
  Packer packer(tiles);
  for (end = 2.5; end < 200; end *= 1.3)
    if (packer.pack(curve, end, cap, draft)) return true;
  return false;
}

}  // namespace

TEST_CASE("The curve of a draft gives the time of each of its slots, and back the blocks") {
  Random random(71);
  for (int i = 0; i < 100; ++i) {
    const DraftTiles tiles = random_tiles(random);
    const SlotCurve any = SlotCurve::shared(kCosts, 32, tiles.slots);
    Draft draft;
    double end = 0;
    if (!packed(tiles, any, 12, end, draft)) continue;
    const SlotCurve curve = SlotCurve::of_draft(kCosts, tiles, draft);
    std::vector<SlotLoad> slots;
    for (const auto& [slot, load] : sums_of(draft).slots)
      slots.push_back({load.pieces, 0, load.keys * 32});
    std::ranges::sort(slots, {}, &SlotLoad::keys);
    const std::vector<double> times = slot_times(slots, kCosts);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const std::int64_t blocks = slots[s].keys / 32;
      CHECK(curve.time(slots[s].pieces, blocks) == Approx(times[s]));
      CHECK(curve.most_blocks(slots[s].pieces, times[s] + 1e-6) == blocks);
    }
    for (const std::int64_t pieces : {1, 2, 5})
      for (const double until : {1.0, 3.0, 11.0, 30.0, 500.0}) {
        const std::int64_t most = curve.most_blocks(pieces, until);
        CHECK(curve.time(pieces, most + 1) > until - 1e-6);
        if (most > 0) CHECK(curve.time(pieces, most) <= until + 1e-6);
        if (curve.time(pieces, 1) > until + 1e-6) CHECK(most == 0);
      }
  }
}

TEST_CASE("A packed draft has all tiles, ends in time, and cuts none into too many pieces") {
  Random random(72);
  int seen = 0;
  for (int i = 0; i < 400; ++i) {
    const DraftTiles tiles = random_tiles(random);
    const SlotCurve curve = SlotCurve::shared(kCosts, 32, tiles.slots);
    const std::int64_t cap = random(1, 5);
    Draft draft;
    double end = 0;
    if (!packed(tiles, curve, cap, end, draft)) continue;
    ++seen;
    const Sums sums = sums_of(draft);
    check_whole(tiles, sums);
    CHECK(slowest(curve, sums) <= end + 1e-6);
    for (const auto& [tile, n] : sums.pieces) CHECK(n <= cap);
  }
  CHECK(seen > 300);
}

TEST_CASE("Nothing is packed by a time at which not even one block is done") {
  Random random(73);
  const DraftTiles tiles = random_tiles(random);
  Draft draft;
  Packer packer(tiles);
  CHECK_FALSE(packer.pack(SlotCurve::shared(kCosts, 32, 4), 2.0, 9, draft));
  CHECK_FALSE(packer.pack(SlotCurve::shared(kCosts, 32, 4), -5.0, 9, draft));
}

TEST_CASE("Moves keep tiles and limits, and never make the slowest slot slower") {
  Random random(74);
  int faster = 0;
  for (int i = 0; i < 400; ++i) {
    DraftTiles tiles = random_tiles(random);
    const SlotCurve curve = SlotCurve::shared(kCosts, 32, tiles.slots);
    Draft draft;
    std::int64_t merged = 0;
    for (std::size_t t = 0; t < tiles.tiles.size(); ++t) {
      const auto add = [&](std::int64_t blocks) {
        draft.push_back({static_cast<std::int32_t>(t),
                         static_cast<std::int32_t>(random(0, tiles.slots - 1)), blocks});
      };
      std::int64_t left = tiles.tiles[t].blocks;
      if (left > 1 && tiles.most_pieces > 1 && merged + 2 <= tiles.most_merged && t % 2 == 0) {
        merged += 2;
        add(1);
        --left;
      }
      add(left);
    }
    tiles.most_works = std::max<std::int64_t>(tiles.most_works, std::ssize(draft));
    const double before = slowest(curve, sums_of(draft));
    improve(tiles, curve, tiles.most_pieces, draft);
    const Sums sums = sums_of(draft);
    check_whole(tiles, sums);
    for (const auto& [tile, n] : sums.pieces) CHECK(n <= tiles.most_pieces);
    CHECK(std::ssize(draft) <= tiles.most_works);
    CHECK(sums.merged <= tiles.most_merged);
    CHECK(slowest(curve, sums) <= before + 1e-9);
    faster += slowest(curve, sums) < before * 0.9 ? 1 : 0;
  }
  CHECK(faster > 200);
}

TEST_CASE("A long tile that a slot shares with nothing is cut over the idle ones, evenly") {
  const DraftTiles tiles{.tiles = {{.whole = {}, .blocks = 100}},
                         .block_keys = 32,
                         .slots = 4,
                         .most_pieces = 4,
                         .most_works = 8,
                         .most_merged = 8};
  const SlotCurve curve = SlotCurve::shared(kCosts, 32, 4);
  Draft draft{{0, 0, 100}};
  improve(tiles, curve, 4, draft);
  const Sums sums = sums_of(draft);
  CHECK(sums.pieces.at(0) == 4);
  for (const auto& [slot, load] : sums.slots) CHECK((load.keys >= 23 && load.keys <= 27));
}
