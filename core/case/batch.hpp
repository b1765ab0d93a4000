// Batch: what an engine's runner hands to a metadata builder for one step, derived from a Case.
//
// Owns: the requests with their graph padding, and the block table that places their keys in the
// physical cache. A pure function of the case; no tensor is touched here.
// Units: lengths in tokens and rows, table entries are physical blocks.
// Fails: make_batch() refuses cases whose block ids leave int32.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case/case.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace mla {

// A view of a block table: entry (request r, block j) at data[r*row_stride + j*column_stride].
struct BlockTableView {
  const std::int32_t* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  [[nodiscard]] std::int32_t at(std::int64_t row, std::int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }
};

struct Batch {
  // Live requests first, then the graph padding. A padding request has the rows and keys that the
  // engine's uniform padding rule gives it (vllm_metadata.md 5.5), or none.
  std::vector<RequestSpec> requests;
  Requests live{0};
  std::int64_t block_size = 1;
  std::vector<std::int32_t> block_table;  // [requests, columns], row-major, stride `columns`
  std::int64_t columns = 0;
  std::int64_t first_block = 0;  // physical blocks [first_block, first_block + cache_blocks)
  std::int64_t cache_blocks = 0;

  [[nodiscard]] BlockTableView table() const MLA_LIFETIME_BOUND {
    return {block_table.data(), static_cast<std::int64_t>(requests.size()), columns, columns, 1};
  }
  [[nodiscard]] Rows rows() const;
  // Slot of the cache that holds key `position` of request r: block * block_size + offset.
  [[nodiscard]] std::int64_t slot(std::int64_t request, std::int64_t position) const;
};

Result<Batch> make_batch(const Case& c);
// Only the requests of that batch, without its block table.
std::vector<RequestSpec> padded_requests(const Case& c);

// Rows per request if padding the batch to `num_tokens` rows makes it uniform, otherwise 0
// (vLLM uniform_padded_mtp_qo_len; every condition of vllm_metadata.md 5.5).
std::int64_t uniform_padded_qo_len(const std::vector<std::int64_t>& qo_lens,
                                   std::int64_t max_qo_len, std::int64_t num_tokens);

}  // namespace mla
