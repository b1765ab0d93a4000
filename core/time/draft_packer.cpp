// Packer: list scheduling of tiles that may be cut.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/time/draft_packer.hpp"

namespace mla::timing {
namespace {

constexpr std::int64_t kBits = 64;  // of a word of levels_

}  // namespace

Packer::Packer(const DraftTiles& tiles) : tiles_(tiles), order_(tiles.tiles.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::sort(order_, {}, [&tiles](std::int32_t t) {
    return std::pair(-tiles.tiles[static_cast<std::size_t>(t)].blocks, t);
  });
}

bool Packer::pack(const SlotCurve& curve, double end, std::int64_t most_pieces, Draft& draft) {
  draft.clear();
  const std::int64_t largest = tiles_.tiles[static_cast<std::size_t>(order_.front())].blocks;
  room_.clear();
  while (std::ssize(room_) < std::ssize(order_)) {
    const std::int64_t blocks = curve.most_blocks(std::ssize(room_) + 1, end);
    if (blocks < 1) break;
    room_.push_back(blocks);
  }
  if (room_.empty()) return false;
  full_ = std::min(room_.front(), largest);
  empty_ = 0;
  slots_.assign(static_cast<std::size_t>(tiles_.slots), {});
  next_.assign(static_cast<std::size_t>(tiles_.slots), -1);
  first_.assign(static_cast<std::size_t>(full_) + 1, -1);
  levels_.assign(static_cast<std::size_t>(full_ / kBits) + 1, 0);
  if (!cut_into_full_slots(most_pieces, draft)) return false;
  if (!draft.empty())
    std::ranges::sort(rests_, {}, [](const Rest& r) { return std::pair(-r.blocks, r.tile); });
  return std::ranges::all_of(rests_, [&](const Rest& rest) { return place(rest, draft); });
}

bool Packer::cut_into_full_slots(std::int64_t most_pieces, Draft& draft) {
  rests_.clear();
  for (const std::int32_t t : order_) {
    const std::int64_t blocks = tiles_.tiles[static_cast<std::size_t>(t)].blocks;
    const std::int64_t whole = (blocks - 1) / full_;  // slots that it fills; the rest has a block
    if (whole + 1 > most_pieces || empty_ + whole > tiles_.slots) return false;
    for (std::int64_t i = 0; i < whole; ++i) put(empty_++, t, full_, draft);
    rests_.push_back({t, blocks - whole * full_, most_pieces - whole});
  }
  return true;
}

void Packer::put(std::int32_t slot, std::int32_t tile, std::int64_t blocks, Draft& draft) {
  Slot& s = slots_[static_cast<std::size_t>(slot)];
  ++s.pieces;
  s.blocks += blocks;
  draft.push_back({tile, slot, blocks});
  list(slot);
}

// A slot that no further piece fits into is in no list.
void Packer::list(std::int32_t slot) {
  const Slot& s = slots_[static_cast<std::size_t>(slot)];
  if (s.pieces >= std::ssize(room_)) return;
  const std::int64_t level = std::min(full_, room_[static_cast<std::size_t>(s.pieces)] - s.blocks);
  if (level < 1) return;
  std::int32_t& first = first_[static_cast<std::size_t>(level)];
  next_[static_cast<std::size_t>(slot)] = first;
  first = slot;
  levels_[static_cast<std::size_t>(level / kBits)] |= std::uint64_t{1} << (level % kBits);
}

std::int32_t Packer::take(std::int64_t level) {
  std::int32_t& first = first_[static_cast<std::size_t>(level)];
  const std::int32_t slot = first;
  first = next_[static_cast<std::size_t>(slot)];
  if (first < 0)
    levels_[static_cast<std::size_t>(level / kBits)] &= ~(std::uint64_t{1} << (level % kBits));
  return slot;
}

std::int64_t Packer::level_from(std::int64_t least) const {
  auto word = static_cast<std::size_t>(least / kBits);
  std::uint64_t bits = levels_[word] & (~std::uint64_t{0} << (least % kBits));
  while (bits == 0 && ++word < levels_.size()) bits = levels_[word];
  return bits == 0 ? -1 : static_cast<std::int64_t>(word) * kBits + std::countr_zero(bits);
}

std::int64_t Packer::highest_level() const {
  for (std::size_t word = levels_.size(); word-- > 0;)
    if (levels_[word] != 0)
      return static_cast<std::int64_t>(word) * kBits + kBits - 1 - std::countl_zero(levels_[word]);
  return -1;
}

// While there are empty slots a rest takes one: packing closely matters only once all have work.
bool Packer::place(Rest rest, Draft& draft) {
  for (; rest.pieces_left > 0; --rest.pieces_left) {
    if (empty_ < tiles_.slots) {
      put(empty_++, rest.tile, rest.blocks, draft);
      return true;
    }
    if (const std::int64_t fits = level_from(rest.blocks); fits > 0) {
      put(take(fits), rest.tile, rest.blocks, draft);
      return true;
    }
    const std::int64_t most = highest_level();
    if (most < 1) return false;
    put(take(most), rest.tile, most, draft);
    rest.blocks -= most;
  }
  return false;
}

}  // namespace mla::timing
