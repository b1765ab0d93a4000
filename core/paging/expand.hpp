// Page expansion: from a block table to the flat list of physical pages that kernels read.
//
// For request r and page t below its page count: out[kv_indptr[r] + t] = block * E + t % E with
// block = table(r, t / E) and E pages in a block (block_size / page_size). Nothing else is written
// and the table is read no further than needed. Products are 64-bit. Source: vLLM's copy kernel;
// spec vllm_metadata.md 1.5. Units: pages, blocks. Fails: an output that is too small, a table row
// that is too short, an index that leaves int32; in each case before anything is written.
#pragma once

#include <cstdint>
#include <span>

#include "core/case/batch.hpp"
#include "core/result.hpp"

namespace mla {

struct ExpandInput {
  BlockTableView table;
  std::span<const std::int32_t> kv_indptr;   // [requests + 1] pages
  std::span<const std::int64_t> table_rows;  // [requests] row of the table for each request
  std::int64_t pages_per_block = 1;
};

// The launch: every request is worked on by `programs` programs, each taking `chunk` pages and then
// striding on. Programs beyond the last page do nothing.
struct ExpandGrid {
  std::int64_t programs = 1;
  std::int64_t chunk = 1024;  // pages
};

MaybeError expand_pages(const ExpandInput& input, const ExpandGrid& grid,
                        std::span<std::int32_t> out);

}  // namespace mla
