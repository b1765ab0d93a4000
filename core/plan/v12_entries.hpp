// The planning requests of v1.2: what the serial planner walks over.
//
// Owns: `Entry`, one planning request: a request of the batch, one of its folded copies (as many as
// shape.fold_ratio, in a row), or one query row of it when sparse; `Entries`, which derives them
// one after another, so that no list of them is stored. Every index the original derives for it is
// derived here, out-of-range ones included. Source: spec aiter.md 3.2, step 2. Units in the field
// comments; KV positions are pages, counted from the batch's first. Fails: the places where the
// original reads out of range, divides by zero or plans a wrong range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/lifetime.hpp"
#include "core/plan/checks.hpp"
#include "core/plan/planner.hpp"

namespace mla::plan {

struct Entry {
  std::int64_t index = 0;     // among the entries
  std::int64_t request = 0;   // of the batch
  std::int64_t batch = 0;     // word 0 of its work items
  std::int64_t qo_len = 0;    // rows
  std::int64_t q_begin = 0;   // rows
  std::int64_t q_end = 0;     // rows
  std::int64_t kv_begin = 0;  // pages
  std::int64_t kv_end = 0;    // pages
  std::int64_t tiles = 1;
  std::int64_t tile_rows = 0;      // rows of each tile but the last
  std::int64_t last_page_len = 0;  // tokens; read when page_size > 1
  std::int64_t rows_after = 0;     // sparse: draft rows of the request after this one
  [[nodiscard]] std::int64_t pages() const { return kv_end - kv_begin; }
};

class Entries {
 public:
  Entries(const PlanInput& input MLA_LIFETIME_BOUND, const PlanShape& shape MLA_LIFETIME_BOUND);

  // KV blocks of all tiles, the overhead of each tile included. Fails before anything is planned,
  // for the first entry that cannot be.
  [[nodiscard]] Result<std::int64_t> demand() const;
  // Calls `visit` with every entry until it returns false.
  template <class Visit>
  void each(Visit visit) const {
    in_parts() ? each_part(visit) : each_request(visit);
  }

  // The page after the last that a row of tile `tile` sees.
  [[nodiscard]] std::int64_t visible_end(const Entry& entry, std::int64_t tile) const {
    return trims_ ? entry.kv_end - causal_trim(entry, tile) : entry.kv_end;
  }

 private:
  static std::int64_t at(std::span<const std::int32_t> list, std::int64_t i) {
    return list[static_cast<std::size_t>(i)];
  }
  // Tokens at the end of the request that the original leaves out of tile `tile`, whose rows cannot
  // see them (page_size 1).
  [[nodiscard]] std::int64_t causal_trim(const Entry& entry, std::int64_t tile) const;
  // A request may have several entries.
  [[nodiscard]] bool in_parts() const { return sparse(input_) || shape_.fold_ratio != 1; }
  [[nodiscard]] std::int64_t folded() const { return input_.batch() * shape_.fold_ratio; }
  [[nodiscard]] std::int64_t count() const { return folded() * rows_; }
  [[nodiscard]] MaybeError check() const;
  [[nodiscard]] MaybeError check_sparse() const;
  [[nodiscard]] MaybeError check_folded() const;
  [[nodiscard]] MaybeError check_scratch() const;
  [[nodiscard]] MaybeError check_tiles(const Entry& entry) const;
  [[nodiscard]] std::int64_t visible_trim(const Entry& entry, std::int64_t tile) const;
  template <class Visit>
  void each_request(Visit& visit) const;
  template <class Visit>
  void each_part(Visit& visit) const;
  // The rows that qo_indptr lists: how many under entry `count`, which under entry `i`.
  void set_rows(Entry& entry, std::int64_t count, std::int64_t i) const {
    const std::int64_t before = entry.qo_len;
    entry.qo_len = at(input_.qo_indptr, count + 1) - at(input_.qo_indptr, count);
    entry.q_begin = at(input_.qo_indptr, i);
    entry.q_end = at(input_.qo_indptr, i + 1);
    if (entry.qo_len != before) cut(entry);  // most entries have as many rows as the one before
  }
  void cut(Entry& entry) const {
    entry.tiles = shape_.tiles(entry.qo_len);
    entry.tile_rows = shape_.tile_rows(entry.qo_len);
  }
  // `folded` counts the folded requests.
  void find_rows(Entry& entry, std::int64_t folded) const;
  void find_pages(Entry& entry) const;
  // Read when pages hold several tokens. With folded heads the original runs past the end of
  // kv_last_page_lens.
  [[nodiscard]] std::int64_t last_page_len(const Entry& entry) const {
    if (input_.page_size == 1) return 0;
    const std::int64_t i = safe(input_) ? entry.request : entry.batch;
    const bool inside = i < std::ssize(input_.last_page_len);
    return inside ? at(input_.last_page_len, i) : kPoison;
  }

  const PlanInput& input_;
  const PlanShape& shape_;
  std::int64_t rows_ = 1;        // entries of one (folded) request: its rows when sparse, else 1
  std::int64_t topk_pages_ = 0;  // sparse
  bool trims_ = false;           // causal_trim() may be above 0
  bool lengths_in_scratch_ = true;
  // Without lengths in scratch memory the original takes kv_indptr[1] for the first length and
  // never subtracts kv_indptr[0].
  std::int64_t base_ = 0;
};

// Most batches: an entry is a request.
template <class Visit>
void Entries::each_request(Visit& visit) const {
  const std::int64_t batch = input_.batch();
  const bool lists_rows = ragged(input_);
  Entry entry{.qo_len = input_.uniform_qo_len, .q_end = input_.uniform_qo_len};
  cut(entry);
  for (std::int64_t r = 0; r < batch; ++r) {
    entry.index = entry.request = entry.batch = r;
    entry.kv_end = at(input_.kv_indptr, r + 1) - base_;
    if (lists_rows) set_rows(entry, r, r);
    entry.last_page_len = last_page_len(entry);
    if (!visit(entry)) return;
    entry.kv_begin = entry.kv_end;
    entry.q_begin = entry.q_end;
    entry.q_end += entry.qo_len;
  }
}

// An entry is one folded copy of a request, or one of its rows when sparse.
template <class Visit>
void Entries::each_part(Visit& visit) const {
  Entry entry{.qo_len = ragged(input_) ? 0 : input_.uniform_qo_len};
  cut(entry);
  for (std::int64_t folded = 0; entry.request < input_.batch(); ++entry.request)
    for (std::int64_t copy = 0; copy < shape_.fold_ratio; ++copy, ++folded)
      for (std::int64_t row = 0; row < rows_; ++row, ++entry.index) {
        entry.batch = sparse(input_) ? entry.request : entry.index;
        find_rows(entry, folded);
        find_pages(entry);
        entry.last_page_len = last_page_len(entry);
        // Only an unfolded sparse row knows the draft rows after it.
        entry.rows_after = sparse(input_) && shape_.fold_ratio == 1 ? rows_ - 1 - row : 0;
        if (!visit(entry)) return;
      }
}

}  // namespace mla::plan
