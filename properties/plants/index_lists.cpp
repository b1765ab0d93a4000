// Index lists that say something else than the batch.
#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

std::size_t live_requests(const DecodeMetadata& md) {
  return md.last_page_len.size();
}

class OneRowEach final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    for (std::size_t r = 0; r <= live_requests(md); ++r)
      buffers.qo_indptr[r] = static_cast<std::int32_t>(r);
  }
};

class OneRowEachForThePlanner final : public Interposer {
  void on_plan_query(const DecodeMetadata& md, plan::PlanInput& input,
                     plan::SizeQuery&) const override {
    static thread_local std::vector<std::int32_t> rows;
    rows.clear();
    for (std::size_t r = 0; r <= live_requests(md); ++r)
      rows.push_back(static_cast<std::int32_t>(r));
    input.qo_indptr = rows;
    input.uniform_qo_len = -1;
  }
};

class LastPageIsSequence final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    for (std::size_t r = 0; r < live_requests(md); ++r)
      buffers.last_page_len[r] =
          static_cast<std::int32_t>(std::max<std::int64_t>(1, md.kv_lens[r]));
  }
};

class PoolLength final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    md.qo_indptr = buffers.qo_indptr;
    md.kv_indptr = buffers.kv_indptr;
  }
};

// Fills the pages of every request by a rule of its own.
template <class Rule>
void refill(const DecodeMetadata& md, DecodeBuffers& buffers, Rule rule) {
  for (std::size_t r = 0; r < live_requests(md); ++r)
    for (std::int64_t at = md.kv_indptr[r]; at < md.kv_indptr[r + 1]; ++at) {
      std::int32_t& entry = buffers.kv_indices[static_cast<std::size_t>(at)];
      entry = rule(static_cast<std::int64_t>(r), at - md.kv_indptr[r], entry);
    }
}

// The row of the block table that a kernel request reads.
std::int64_t table_row(const DecodeMetadata& md, const Batch& batch, std::int64_t request) {
  if (md.shape.route != Route::persistent_rows) return request;
  std::int64_t row = 0;
  for (std::int64_t rows = 0; row < batch.table().rows; ++row) {
    rows += batch.requests[static_cast<std::size_t>(row)].qo_len;
    if (request < rows) break;
  }
  return row;
}

class BlocksAsTokens final : public Interposer {
  void on_index_lists(const Batch& batch, DecodeMetadata& md,
                      DecodeBuffers& buffers) const override {
    refill(md, buffers, [&](std::int64_t request, std::int64_t page, std::int32_t) {
      const std::int64_t column = std::min(page, batch.columns - 1);
      return batch.table().at(table_row(md, batch, request), column);
    });
  }
};

class WholeTableRows final : public Interposer {
  void on_index_lists(const Batch& batch, DecodeMetadata& md,
                      DecodeBuffers& buffers) const override {
    const std::int64_t per_block = md.shape.block_size / md.shape.page_size;
    std::size_t to = 0;
    for (std::size_t r = 0; r < live_requests(md); ++r)
      for (std::int64_t p = 0; p < batch.columns * per_block; ++p) {
        if (to == buffers.kv_indices.size()) return;
        const std::int64_t row = table_row(md, batch, static_cast<std::int64_t>(r));
        buffers.kv_indices[to++] = static_cast<std::int32_t>(
            batch.table().at(row, p / per_block) * per_block + p % per_block);
      }
  }
};

class PagesAsTokens final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    refill(md, buffers, [&](std::int64_t, std::int64_t, std::int32_t page) {
      return static_cast<std::int32_t>(page * md.shape.page_size);
    });
  }
};

class PageSizeOne final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    md.shape.page_size = 1;
    std::fill(buffers.last_page_len.begin(), buffers.last_page_len.end(), 1);
  }
};

class KernelIgnoresPages final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    if (md.shape.route != Route::split) return;
    md.shape.page_size = 1;
    std::fill(buffers.last_page_len.begin(), buffers.last_page_len.end(), 1);
  }
};

class OnePageMore final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    const std::size_t last = live_requests(md);
    if (buffers.kv_indices.size() <= static_cast<std::size_t>(md.kv_indptr[last])) return;
    ++buffers.kv_indptr[last];
  }
};

constexpr Plant kIndexListsPlants[] = {
    {"BUG-007", "P04", "In eager mode qo_indptr is 0..R, although requests have several rows.",
     "mla1:1q2s2", plant_of<OneRowEach>},
    {"SEED-qo-arange", "P12",
     "The planner gets one row for each request in eager speculative decoding; the rest is never "
     "computed.",
     "mla1:1q2s2", plant_of<OneRowEachForThePlanner>},
    {"BUG-037", "P04", "last_page_len holds the sequence length.", "mla1:1q1s2",
     plant_of<LastPageIsSequence>},
    {"BUG-047", "P04", "The index lists keep the length of the pool instead of the batch's.",
     "mla1:1q1s1", plant_of<PoolLength>},
    {"SEED-block-size", "P18",
     "The block size is ignored: block ids are copied as if a block held one token.",
     "mla1:1q1s2;block=2", plant_of<BlocksAsTokens>},
    {"BUG-117", "P18",
     "kv_indices holds whole rows of the block table while kv_indptr counts the pages in use.",
     "mla1:1q1s1_1q1s2", plant_of<WholeTableRows>},
    {"BUG-059", "P18", "The metadata names pages in tokens, the kernel counts pages.",
     "mla1:1q1s17;block=16;page=16", plant_of<PagesAsTokens>},
    {"BUG-122", "P18", "The metadata is built with a hard-coded page size of 1.",
     "mla1:1q1s2;block=16;page=16", plant_of<PageSizeOne>},
    {"BUG-058", "P18", "The non-persistent kernel is not told the page size.",
     "mla1:1q1s2;block=16;page=16;planner=none", plant_of<KernelIgnoresPages>},
    {"BUG-043", "P02", "The kernel takes a stale entry after the last page for a page.",
     "mla1:1q1s1", plant_of<OnePageMore>},
};

}  // namespace

std::span<const Plant> index_list_plants() {
  return kIndexListsPlants;
}

}  // namespace mla::prop
