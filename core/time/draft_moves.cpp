#include "core/time/draft_moves.hpp"

#include <algorithm>

namespace mla::timing {
namespace {

constexpr int kMostMoves = 64;  // each makes one slot faster

class Moves {
 public:
  Moves(const DraftTiles& tiles, const SlotCurve& curve, std::int64_t most_pieces, Draft& draft)
      : tiles_(tiles),
        curve_(curve),
        most_pieces_(most_pieces),
        draft_(draft),
        slots_(static_cast<std::size_t>(tiles.slots)),
        pieces_(tiles.tiles.size()) {
    for (const DraftPiece& p : draft_) {
      ++slots_[at(p.slot)].pieces;
      slots_[at(p.slot)].blocks += p.blocks;
      ++pieces_[at(p.tile)];
    }
    for (Slot& s : slots_) set(s, s.pieces, s.blocks);
    for (const std::int64_t n : pieces_) merged_ += n > 1 ? n : 0;
  }

  // Whether the slowest slot became faster and no other one as slow as it was.
  bool step() {
    slowest_ = place(std::ranges::max_element(slots_, {}, &Slot::us));
    fastest_ = place(std::ranges::min_element(slots_, {}, &Slot::us));
    if (slowest_ == fastest_) return false;
    Change best{.after = slots_[at(slowest_)].us};
    const std::vector<std::size_t> theirs = pieces_on(fastest_);
    for (const std::size_t i : pieces_on(slowest_)) {
      try_move(i, best);
      try_cut(i, best);
      for (const std::size_t j : theirs) try_swap(i, j, best);
      if (pieces_[at(draft_[i].tile)] == 1) continue;
      for (std::size_t j = 0; j < draft_.size(); ++j)
        if (draft_[j].tile == draft_[i].tile && draft_[j].slot != slowest_) try_shift(i, j, best);
    }
    if (best.kind == Kind::none) return false;
    apply(best);
    return true;
  }

 private:
  enum class Kind : std::uint8_t { none, move, cut, shift, swap };
  struct Slot {
    std::int64_t pieces = 0;
    std::int64_t blocks = 0;
    double us = 0;
  };
  struct Change {
    Kind kind = Kind::none;
    std::size_t piece = 0;
    std::size_t other = 0;
    std::int64_t blocks = 0;
    double after = 0;  // time of the slower one of the two slots
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  std::int32_t place(std::vector<Slot>::iterator slot) {
    return static_cast<std::int32_t>(slot - slots_.begin());
  }
  [[nodiscard]] std::vector<std::size_t> pieces_on(std::int32_t slot) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < draft_.size(); ++i)
      if (draft_[i].slot == slot) out.push_back(i);
    return out;
  }
  void set(Slot& slot, std::int64_t pieces, std::int64_t blocks) const {
    slot = {pieces, blocks, curve_.time(pieces, blocks)};
  }

  // The slowest slot gives so many pieces and blocks to another one.
  void consider(const Change& change, std::int32_t to, std::int64_t pieces, std::int64_t blocks,
                Change& best) const {
    const Slot& a = slots_[at(slowest_)];
    const Slot& b = slots_[at(to)];
    const double after = std::max(curve_.time(a.pieces - pieces, a.blocks - blocks),
                                  curve_.time(b.pieces + pieces, b.blocks + blocks));
    if (after >= best.after) return;
    best = change;
    best.after = after;
  }
  // Blocks of the slowest slot whose loss makes it as fast as the other one becomes with them and
  // `us` more, at the mean time of a block; 0 where there are none.
  [[nodiscard]] std::int64_t half_gap(std::int32_t to, double us) const {
    const Slot& a = slots_[at(slowest_)];
    const double gap = a.us - slots_[at(to)].us - us;
    const double block =
        (a.us - static_cast<double>(a.pieces) * curve_.piece_us()) / static_cast<double>(a.blocks);
    return gap <= 0 ? 0 : static_cast<std::int64_t>(gap / (2 * block));
  }
  // The piece goes to the fastest slot.
  void try_move(std::size_t i, Change& best) const {
    consider({Kind::move, i}, fastest_, 1, draft_[i].blocks, best);
  }
  // Blocks of it become a piece of the fastest slot.
  void try_cut(std::size_t i, Change& best) const {
    const DraftPiece& p = draft_[i];
    const std::int64_t own = pieces_[at(p.tile)];
    if (own >= most_pieces_ || std::ssize(draft_) >= tiles_.most_works ||
        merged_ + (own == 1 ? 2 : 1) > tiles_.most_merged)
      return;
    const std::int64_t blocks = std::min(p.blocks - 1, half_gap(fastest_, curve_.piece_us()));
    if (blocks < 1) return;
    const Slot& a = slots_[at(slowest_)];
    const Slot& b = slots_[at(fastest_)];
    const double after = std::max(curve_.time(a.pieces, a.blocks - blocks),
                                  curve_.time(b.pieces + 1, b.blocks + blocks));
    if (after < best.after) best = {Kind::cut, i, 0, blocks, after};
  }
  // Blocks of it go to another piece of its tile.
  void try_shift(std::size_t i, std::size_t j, Change& best) const {
    const std::int64_t blocks = std::min(draft_[i].blocks - 1, half_gap(draft_[j].slot, 0));
    if (blocks > 0) consider({Kind::shift, i, j, blocks}, draft_[j].slot, 0, blocks, best);
  }
  void try_swap(std::size_t i, std::size_t j, Change& best) const {
    const std::int64_t less = draft_[i].blocks - draft_[j].blocks;
    if (less > 0) consider({Kind::swap, i, j}, fastest_, 0, less, best);
  }

  void give(std::int32_t to, std::int64_t lost, std::int64_t gained, std::int64_t blocks) {
    Slot& a = slots_[at(slowest_)];
    Slot& b = slots_[at(to)];
    set(a, a.pieces - lost, a.blocks - blocks);
    set(b, b.pieces + gained, b.blocks + blocks);
  }
  void apply(const Change& c) {
    DraftPiece& piece = draft_[c.piece];
    DraftPiece& other = draft_[c.other];
    switch (c.kind) {
      case Kind::none:
        return;
      case Kind::move:
        piece.slot = fastest_;
        return give(fastest_, 1, 1, piece.blocks);
      case Kind::shift:
        piece.blocks -= c.blocks;
        other.blocks += c.blocks;
        return give(other.slot, 0, 0, c.blocks);
      case Kind::swap:
        std::swap(piece.slot, other.slot);
        return give(fastest_, 0, 0, piece.blocks - other.blocks);
      case Kind::cut:
        break;
    }
    std::int64_t& own = pieces_[at(piece.tile)];
    merged_ += own == 1 ? 2 : 1;
    ++own;
    piece.blocks -= c.blocks;
    give(fastest_, 0, 1, c.blocks);
    draft_.push_back({piece.tile, fastest_, c.blocks});
  }

  const DraftTiles& tiles_;
  const SlotCurve& curve_;
  std::int64_t most_pieces_;
  Draft& draft_;
  std::vector<Slot> slots_;
  std::vector<std::int64_t> pieces_;  // of the tiles
  std::int64_t merged_ = 0;           // pieces of tiles that have several
  std::int32_t slowest_ = 0;
  std::int32_t fastest_ = 0;
};

}  // namespace

void improve(const DraftTiles& tiles, const SlotCurve& curve, std::int64_t most_pieces,
             Draft& draft) {
  Moves moves(tiles, curve, most_pieces, draft);
  for (int left = kMostMoves; left > 0 && moves.step(); --left) {
  }
}

}  // namespace mla::timing
