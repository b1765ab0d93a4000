// Planner v1.0: every request is cut into about the same number of pieces, and the pieces are dealt
// out to the slots in runs of equal length.
//
// Source: spec aiter.md 3.4. It reads no query lengths, no page size and no causal flag; what goes
// wrong because of that is refused in safe fidelity.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/checks.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/words.hpp"
#include "core/say.hpp"

namespace mla::plan {
namespace {

constexpr std::int64_t kFixedSplits = 16;     // gfx942, whatever the caller asks for
constexpr std::int64_t kPagesPerSplit = 196;  // gfx950
constexpr std::int64_t kShortPiece = 4;       // pages; a last piece this short joins the one before

// How requests become planning requests. With 128 heads every query row is one of its own, and
// unless the query is bf16 it sees one key less for every row after it.
struct Layout {
  std::int64_t slots = 0;
  std::int64_t ratio = 1;  // planning requests of one request
  std::int64_t rows = 1;   // query rows of one planning request
  std::int64_t count = 0;  // planning requests
  bool row_each = false;
  bool trims = false;
};

Layout layout_of(const PlanInput& input, const PlanShape& shape) {
  Layout l;
  l.row_each = shape.plan_heads == Heads(128);
  l.trims = l.row_each && input.key.dtype.q != Dtype::bf16;
  l.slots = input.key.compute_units.count() / input.key.kv_heads.count();
  l.ratio = l.row_each ? input.uniform_qo_len : shape.fold_ratio;
  l.rows = l.row_each ? 1 : input.uniform_qo_len;
  l.count = input.batch() * l.ratio;
  return l;
}

// How one planning request is cut.
struct Cut {
  std::int64_t pieces = 0;
  std::int64_t pages = 0;  // of every piece but the last
};

class V10 {
 public:
  V10(const PlanInput& input, const Layout& layout, const BufferSizes& sizes)
      : input_(input), layout_(layout), plan_(sizes) {}
  [[nodiscard]] MaybeError cut_all();
  void write_all();
  Plan take() && { return std::move(plan_); }

 private:
  [[nodiscard]] std::int64_t trim(std::int64_t index) const {
    return layout_.trims ? layout_.ratio - 1 - index % layout_.ratio : 0;
  }
  [[nodiscard]] std::int64_t splits(std::int64_t pages) const;
  [[nodiscard]] Result<Cut> cut(std::int64_t index) const;
  void write(std::int64_t index, std::int64_t first_work);
  void deal_out(std::int64_t works);

  const PlanInput& input_;
  const Layout& layout_;
  std::vector<Cut> cuts_;           // of every planning request
  std::vector<std::int64_t> ends_;  // page after every request, with a 0 in front
  Plan plan_;
};

std::int64_t V10::splits(std::int64_t pages) const {
  if (input_.key.arch == Arch::gfx942) return kFixedSplits;
  return std::min(
      {pages / kPagesPerSplit, ceil_div(layout_.slots, layout_.count), input_.max_split_per_batch});
}

Result<Cut> V10::cut(std::int64_t index) const {
  const std::int64_t r = index / layout_.ratio;
  const auto i = static_cast<std::size_t>(r);
  const std::int64_t begin = input_.kv_indptr[i];
  const std::int64_t n = input_.kv_indptr[i + 1] - begin;
  if (safe(input_) && n == 0)
    return refused(request_name(r) +
                   " has n = 0 keys: planner v1.0 plans 1 and starts the next request after it");
  if (safe(input_) && layout_.trims && n < layout_.ratio)
    return shorter_than_query(r, n, layout_.ratio);
  const std::int64_t pages = std::max<std::int64_t>(n - trim(index), 1);
  const std::int64_t wanted = splits(pages);
  if (wanted < 1)
    return refused(say(request_name(r), " has ", pages, " keys and max_split_per_batch is ",
                       input_.max_split_per_batch, ": planner v1.0 gives it ", wanted,
                       " splits and divides by that number"));
  const std::int64_t blocks = ceil_div(pages, input_.kv_granularity);
  const std::int64_t blocks_each = ceil_div(blocks, wanted);
  Cut c{.pieces = ceil_div(blocks, blocks_each), .pages = blocks_each * input_.kv_granularity};
  const std::int64_t tail = pages % c.pages;
  if (0 < tail && tail <= kShortPiece && c.pieces > 1) --c.pieces;
  // The emission absorbs a short tail only where pieces are left to merge.
  if (safe(input_) && c.pieces == 1 && c.pages < pages)
    return refused(say(request_name(r), " has ", pages, " keys: planner v1.0 drops the last ", tail,
                       " because only one piece is left"));
  const std::int64_t rest = pages - (c.pieces - 1) * c.pages;
  if (safe(input_) && c.pieces > 1 && rest <= kShortPiece)
    return refused(say(request_name(r), " has ", pages, " keys in pieces of ", c.pages,
                       ": planner v1.0 gives the last ", rest, " to the piece before as well"));
  if (safe(input_) && input_.causal && c.pieces > 1 && rest < layout_.rows)
    return refused(say(request_name(r), " has ", pages, " keys: planner v1.0 leaves the last ",
                       rest, " to a piece of ", layout_.rows, " rows"),
                   "BUG-012");
  return c;
}

MaybeError V10::cut_all() {
  ends_.assign(static_cast<std::size_t>(input_.batch()) + 1, 0);
  for (std::int64_t index = 0; index < layout_.count; ++index) {
    const Result<Cut> c = cut(index);
    if (!c) return c.error();
    cuts_.push_back(*c);
    // Every row of a request stores its end under the same index; that of the last one stays, which
    // trims nothing.
    const auto i = static_cast<std::size_t>(index / layout_.ratio);
    ends_[i + 1] = std::max(input_.kv_indptr[i + 1], input_.kv_indptr[i] + 1);
  }
  return std::nullopt;
}

void V10::write(std::int64_t index, std::int64_t first_work) {
  const Cut& c = cuts_[static_cast<std::size_t>(index)];
  const auto i = static_cast<std::size_t>(index / layout_.ratio);
  const std::int64_t begin = ends_[i];
  const std::int64_t end = std::max(ends_[i + 1] - trim(index), begin + 1);
  const std::int64_t q_begin = index * layout_.rows;
  for (std::int64_t p = 0; p < c.pieces; ++p) {
    const std::int64_t work = first_work + p;
    const std::int64_t partial_row = c.pieces == 1 ? -1 : work * layout_.rows;
    const std::int64_t kv_begin = begin + p * c.pages;
    std::int64_t kv_end = std::min(kv_begin + c.pages, end);
    if (end - kv_end <= kShortPiece && c.pieces > 1) kv_end = end;
    plan_.set_work(work, {.batch = word(index),
                          .partial_row = word(partial_row),
                          .q_begin = word(q_begin),
                          .q_end = word(q_begin + layout_.rows),
                          .kv_begin = word(kv_begin),
                          .kv_end = word(kv_end),
                          .kv_offset = word(end - kv_end)});
    plan_.reduce_partial_map.set(work, word(partial_row));
  }
  plan_.reduce_indptr.set(index + 1, word(first_work + c.pieces));
  plan_.reduce_final_map.set(2 * index, word(q_begin));
  plan_.reduce_final_map.set(2 * index + 1, word(q_begin + layout_.rows));
}

// The first works % slots slots run one work more than the others.
void V10::deal_out(std::int64_t works) {
  const std::int64_t each = works / layout_.slots;
  const std::int64_t longer = works % layout_.slots;
  plan_.work_indptr.set(0, 0);
  for (std::int64_t s = 1; s <= layout_.slots; ++s)
    plan_.work_indptr.set(s, word(s * each + std::min(s, longer)));
}

void V10::write_all() {
  plan_.reduce_indptr.set(0, 0);
  std::int64_t works = 0;
  for (std::int64_t index = 0; index < layout_.count; ++index) {
    write(index, works);
    works += cuts_[static_cast<std::size_t>(index)].pieces;
  }
  deal_out(works);
  for (std::int64_t i = layout_.count; i < plan_.reduce_indptr.size(); ++i)
    plan_.reduce_indptr.set(i, word(works));
}

// What v1.0 ignores and therefore plans wrongly.
MaybeError check_ignored(const PlanInput& input, const Layout& layout) {
  if (!safe(input)) return std::nullopt;
  if (sparse(input)) return refused(say("topk is ", input.topk, ": planner v1.0 plans all keys"));
  if (layout.row_each && layout.ratio > 1 && layout.trims != input.causal)
    return refused(say("128 heads and q = ", layout.ratio,
                       ": planner v1.0 makes every row a request and ",
                       layout.trims ? "trims its keys" : "gives it all keys",
                       " although causal is ", input.causal ? "true" : "false"));
  if (input.key.arch == Arch::gfx942)
    if (MaybeError bad =
            check_ignored_cap(input, "pieces a request", input.max_split_per_batch, kFixedSplits))
      return bad;
  return check_ignored_options(input);
}

MaybeError check_v10(const PlanInput& input, const PlanShape& shape, const Layout& layout) {
  if (MaybeError bad = check_form(input, shape, PlannerVersion::v1_0)) return bad;
  if (layout.slots < 1)
    return refused(say(input.key.compute_units.count(), " compute units for ",
                       input.key.kv_heads.count(), " KV heads leave no slot"));
  if (input.batch() < 1) return refused("a batch of 0 requests: planner v1.0 divides by it");
  if (ragged(input) && (layout.row_each || safe(input)))
    return refused(say("uniform_qo_len is ", input.uniform_qo_len,
                       ": planner v1.0 reads no query lengths and needs one for all"));
  if (MaybeError bad = check_safe(input, PlannerVersion::v1_0)) return bad;
  return check_ignored(input, layout);
}

}  // namespace

Result<Plan> plan_v10(const PlanInput& input, const PlanShape& shape, const BufferSizes& sizes) {
  const Layout layout = layout_of(input, shape);
  if (MaybeError bad = check_v10(input, shape, layout)) return *bad;
  V10 planner(input, layout, sizes);
  if (MaybeError bad = planner.cut_all()) return *bad;
  planner.write_all();
  return checked_overruns(std::move(planner).take(), input.fidelity);
}

}  // namespace mla::plan
