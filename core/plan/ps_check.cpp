#include "core/plan/ps_check.hpp"

#include <algorithm>
#include <map>

#include "core/plan/plan_check_parts.hpp"
#include "core/plan/words.hpp"

namespace mla::plan {
namespace {

using check::shown;

std::string range(std::int64_t begin, std::int64_t end) {
  return "[" + shown(begin) + ", " + shown(end) + ")";
}

// Rows of one request, for one group of heads.
struct TileKey {
  std::int64_t q_begin = 0;
  std::int64_t group = 0;
  auto operator<=>(const TileKey&) const = default;
};

struct Piece {
  TileKey tile;
  WorkItem item;
  std::int64_t work = 0;
  bool checked = false;  // with its tile
};

// After so many violations the list ends: a plan of another batch breaks every tile.
constexpr std::size_t kMost = 100;

std::int64_t round_down(std::int64_t value, std::int64_t unit) {
  return value / unit * unit;
}

using Rows = std::pair<std::int64_t, std::int64_t>;

// A cut tile of rows: what is to be merged, and in how many groups of heads it is cut.
struct Merged {
  std::vector<std::int32_t> partials;  // ascending
  std::int64_t groups = 0;
};

class PsCheck {
 public:
  explicit PsCheck(const PsCheckInput& input) : in_(input), plan_(input.plan) {}

  std::vector<Violation> violations() {
    check_work_indptr();
    if (!out_.empty()) return std::move(out_);
    pieces_.reserve(static_cast<std::size_t>(works_));
    for (std::int64_t w = 0; w < works_ && out_.size() < kMost; ++w) collect(w);
    if (!out_.empty()) return std::move(out_);
    for (Piece& piece : pieces_) ordered_.push_back(&piece);
    std::sort(ordered_.begin(), ordered_.end(), [](const Piece* a, const Piece* b) {
      if (a->tile != b->tile) return a->tile < b->tile;
      if (a->item.kv_begin != b->item.kv_begin) return a->item.kv_begin < b->item.kv_begin;
      return a->work < b->work;
    });
    for (std::int64_t r = 0; r + 1 < std::ssize(in_.qo_indptr); ++r) check_request(r);
    check_blind_tiles();
    check_partial_rows();
    check_reduce();
    return std::move(out_);
  }

 private:
  void add(Rule rule, std::string what, std::int64_t work = -1) {
    out_.push_back({rule, std::move(what), work});
  }

  void check_work_indptr() {
    const auto& p = plan_.work_indptr;
    works_ = p.empty() ? 0 : p.back();
    const std::int64_t capacity = std::ssize(plan_.work_info) / kWorkItemWords;
    if (p.empty() || p.front() != 0 || !std::is_sorted(p.begin(), p.end()) || works_ > capacity)
      add(Rule::work_indptr, "work_indptr does not ascend from 0 to a number of works, of which " +
                                 shown(capacity) + " fit");
  }

  void collect(std::int64_t index) {
    const WorkItem w = plan_.work(index);
    const auto wrong = [&](const std::string& what) {
      add(Rule::work_record, "work " + shown(index) + " " + what, index);
    };
    const std::int64_t head = w.first_head();
    if (w.end_head() != head + in_.qhead_granularity || head % in_.qhead_granularity != 0 ||
        head >= in_.heads.count())
      return wrong("is for heads " +
                   (w.heads == kPoison ? shown(w.heads) : range(head, w.end_head())) + " of " +
                   shown(in_.heads.count()) + ", " + shown(in_.qhead_granularity) + " a work");
    if (w.batch < 0 || w.batch >= std::ssize(in_.qo_indptr) - 1)
      return wrong("is for request " + shown(w.batch));
    const std::int64_t first = at(in_.qo_indptr, w.batch);
    const std::int64_t last = at(in_.qo_indptr, w.batch + 1);
    if (w.q_begin < first || (w.q_begin - first) % in_.qlen_granularity != 0 ||
        w.q_end != std::min(w.q_begin + in_.qlen_granularity, last) || w.q_end <= w.q_begin)
      return wrong("has rows " + range(w.q_begin, w.q_end) + ", which are no tile of " +
                   range(first, last));
    pieces_.push_back({{w.q_begin, head / in_.qhead_granularity}, w, index});
  }

  // The pieces of a tile in KV order; none if it was checked before.
  std::span<Piece* const> pieces_of(const TileKey& tile) {
    const auto before = [](const Piece* piece, const TileKey& key) { return piece->tile < key; };
    const auto begin = std::lower_bound(ordered_.begin(), ordered_.end(), tile, before);
    auto end = begin;
    while (end != ordered_.end() && (*end)->tile == tile && !(*end)->checked) ++end;
    return {begin, end};
  }

  // Works of tiles that see no key.
  void check_blind_tiles() {
    for (const Piece* piece : ordered_) {
      if (out_.size() >= kMost) return;
      if (piece->checked) continue;
      check_tile(piece->item.batch, piece->tile);  // tiles have one request
    }
  }

  // Tiles that see no key need no work, and there may be very many of them.
  void check_request(std::int64_t r) {
    const std::int64_t groups = ceil_div(in_.heads.count(), in_.qhead_granularity);
    const std::int64_t rows = at(in_.qo_indptr, r + 1) - at(in_.qo_indptr, r);
    const std::int64_t keys = at(in_.context_lens, r);
    const std::int64_t blind = in_.causal ? rows - keys : (keys > 0 ? 0 : rows);
    std::int64_t row = round_down(std::clamp<std::int64_t>(blind, 0, rows), in_.qlen_granularity);
    for (; row < rows && out_.size() < kMost; row += in_.qlen_granularity)
      for (std::int64_t group = 0; group < groups && out_.size() < kMost; ++group)
        check_tile(r, {at(in_.qo_indptr, r) + row, group});
  }

  // Pages of request `r` that the rows up to `last_row` of it see.
  std::int64_t pages_seen(std::int64_t r, std::int64_t last_row) const {
    const std::int64_t keys = at(in_.context_lens, r);
    const std::int64_t rows = at(in_.qo_indptr, r + 1) - at(in_.qo_indptr, r);
    const std::int64_t seen = in_.causal ? std::min(keys - rows + last_row, keys) : keys;
    return ceil_div(std::max<std::int64_t>(seen, 0), in_.block_size);
  }

  void check_tile(std::int64_t r, const TileKey& key) {
    const std::int64_t row = key.q_begin;
    const std::int64_t end = std::min(row + in_.qlen_granularity, at(in_.qo_indptr, r + 1));
    const auto tile = [&] {  // most have nothing to be named for
      return "rows " + range(row, end) + ", head group " + shown(key.group) + ": ";
    };
    const std::span<Piece* const> pieces = pieces_of(key);
    for (Piece* piece : pieces) piece->checked = true;
    const std::int64_t first = at(in_.kv_indptr, r);
    const std::int64_t seen = pages_seen(r, end - at(in_.qo_indptr, r));
    const std::int64_t held = std::min(ceil_div(at(in_.context_lens, r), in_.block_size),
                                       at(in_.kv_indptr, r + 1) - first);
    if (pieces.empty() && seen > 0)
      return add(Rule::row_written,
                 tile() + "no work writes these rows, which see " + shown(seen) + " pages");
    std::int64_t next = first;
    for (const Piece* piece : pieces) {
      const WorkItem& w = piece->item;
      if (w.kv_begin != next || w.kv_end <= w.kv_begin)
        return add(Rule::coverage,
                   tile() + "pages " + range(w.kv_begin, w.kv_end) + " follow page " + shown(next),
                   piece->work);
      next = w.kv_end;
      check_partial(tile, *piece, std::ssize(pieces));
    }
    if (pieces.size() > 1) check_merged(tile, pieces, {row, pieces.front()->item.q_end});
    if (next < first + seen || next > first + std::max<std::int64_t>(held, 0))
      add(Rule::coverage, tile() + "pages end at " + shown(next - first) + " where " + shown(seen) +
                              " of " + shown(held) + " are seen");
  }

  // One merge serves all groups of heads, so each has to be cut in the same partial rows.
  template <class Named>
  void check_merged(const Named& tile, std::span<Piece* const> pieces, const Rows& rows) {
    partials_.clear();
    for (const Piece* piece : pieces) partials_.push_back(piece->item.partial_row);
    std::sort(partials_.begin(), partials_.end());
    if (in_.most_pieces >= 0 && std::ssize(pieces) > in_.most_pieces)
      add(Rule::reduce_list,
          tile() + shown(std::ssize(pieces)) + " pieces, and the reduce has room for " +
              shown(in_.most_pieces),
          pieces.front()->work);
    const auto [merged, fresh] = wanted_.try_emplace(rows);
    if (fresh) merged->second.partials = partials_;
    ++merged->second.groups;
    if (merged->second.partials != partials_)
      add(Rule::partial_rows, tile() + "other partial rows than those of another group",
          pieces.front()->work);
  }

  // Heads share the partial rows of a piece, pieces do not.
  template <class Named>
  void check_partial(const Named& tile, const Piece& piece, std::int64_t pieces) {
    const WorkItem& w = piece.item;
    if (w.partial_row < -1 || (w.partial_row < 0) != (pieces == 1))
      return add(Rule::partial_rows,
                 tile() + shown(pieces) + (pieces == 1 ? " piece" : " pieces") +
                     ", one writes partial row " + shown(w.partial_row),
                 piece.work);
    if (w.partial_row < 0) return;
    if (w.partial_row % in_.qlen_granularity != 0 ||
        w.partial_row + in_.qlen_granularity > partial_tiles() * in_.qlen_granularity)
      add(Rule::partial_rows,
          tile() + "partial row " + shown(w.partial_row) + " of " + shown(partial_tiles()) +
              " tiles",
          piece.work);
  }

  void check_partial_rows() {
    std::vector<std::uint64_t> writers;  // (partial row, place in ordered_)
    for (std::size_t i = 0; i < ordered_.size(); ++i)
      if (const std::int32_t row = ordered_[i]->item.partial_row; row >= 0)
        writers.push_back(static_cast<std::uint64_t>(row) << 32 | i);
    std::sort(writers.begin(), writers.end());
    for (std::size_t i = 1; i < writers.size() && out_.size() < kMost; ++i) {
      const Piece& one = *ordered_[writers[i - 1] & 0xffffffff];
      const Piece& other = *ordered_[writers[i] & 0xffffffff];
      if (one.item.partial_row == other.item.partial_row &&
          (one.item.q_begin != other.item.q_begin || one.item.kv_begin != other.item.kv_begin))
        add(Rule::partial_rows,
            "partial row " + shown(other.item.partial_row) + " belongs to two pieces: from page " +
                shown(one.item.kv_begin) + " for rows from " + shown(one.item.q_begin) +
                ", and from page " + shown(other.item.kv_begin) + " for rows from " +
                shown(other.item.q_begin),
            other.work);
    }
  }

  std::int64_t partial_tiles() const {
    if (in_.partial_tiles >= 0) return in_.partial_tiles;
    return plan_.reduce_indptr.empty() ? 0 : plan_.reduce_indptr.back();
  }

  void check_reduce() {
    const auto& p = plan_.reduce_indptr;
    if (p.empty() || p.front() != 0 || !std::is_sorted(p.begin(), p.end()) ||
        p.back() > std::ssize(plan_.reduce_partial_map) || p.back() != partial_tiles())
      return add(Rule::reduce_indptr, "reduce_indptr does not ascend from 0 to the " +
                                          shown(partial_tiles()) + " partial tiles");
    const std::int64_t named = std::ssize(plan_.reduce_final_map) / 2;
    const std::int64_t groups = ceil_div(in_.heads.count(), in_.qhead_granularity);
    for (std::size_t t = 0; t + 1 < p.size(); ++t) {
      if (p[t] == p[t + 1]) continue;
      if (static_cast<std::int64_t>(t) >= named)
        return add(Rule::reduce_list, "reduce_final_map has " + shown(named) +
                                          " entries, reduce_indptr merges more tiles");
      const Rows rows{plan_.reduce_final_map[2 * t], plan_.reduce_final_map[2 * t + 1]};
      partials_.assign(plan_.reduce_partial_map.begin() + p[t],
                       plan_.reduce_partial_map.begin() + p[t + 1]);
      std::sort(partials_.begin(), partials_.end());
      const auto found = wanted_.find(rows);
      if (found == wanted_.end() || found->second.partials != partials_)
        return add(Rule::reduce_list, "the reduce of rows " + range(rows.first, rows.second) +
                                          " does not name the pieces that they have");
      if (found->second.groups != groups)
        return add(Rule::reduce_list, "the reduce of rows " + range(rows.first, rows.second) +
                                          " merges all " + shown(groups) +
                                          " head groups, of which " + shown(found->second.groups) +
                                          " are cut");
      wanted_.erase(found);
    }
    for (const auto& [rows, merged] : wanted_)
      add(Rule::reduce_list, "rows " + range(rows.first, rows.second) + " are cut and not merged");
  }

  const PsCheckInput& in_;
  const PlanView& plan_;
  std::int64_t works_ = 0;
  std::vector<Piece> pieces_;           // by work
  std::vector<Piece*> ordered_;         // by tile and keys
  std::vector<std::int32_t> partials_;  // of the tile that is looked at, ascending
  std::map<Rows, Merged> wanted_;
  std::vector<Violation> out_;
};

}  // namespace

std::vector<Violation> ps_check(const PsCheckInput& input) {
  return PsCheck(input).violations();
}

}  // namespace mla::plan
