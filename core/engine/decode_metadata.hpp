// DecodeMetadata: what a decode step hands to the kernels, and the buffers it points into.
//
// All state of a step lives here, never in the builder. The index arrays are views of
// DecodeBuffers, which an engine allocates once and whose addresses never change; the plan is
// owned, and its six buffers exist together or not at all. Units: rows, pages, tokens as named.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/shape/resolved_shape.hpp"

namespace mla {

// Index buffers of fixed capacity. Elements beyond the live part hold whatever an earlier step
// left.
struct DecodeBuffers {
  std::vector<std::int32_t> qo_indptr;      // [max requests + 1]
  std::vector<std::int32_t> kv_indptr;      // [max requests + 1]
  std::vector<std::int32_t> kv_indices;     // [max pages + spare]
  std::vector<std::int32_t> last_page_len;  // [max requests]

  [[nodiscard]] struct IndexSpans spans();
};

// The same four, wherever they lie: what a build writes into.
struct IndexSpans {
  std::span<std::int32_t> qo_indptr;
  std::span<std::int32_t> kv_indptr;
  std::span<std::int32_t> kv_indices;
  std::span<std::int32_t> last_page_len;
};

inline IndexSpans DecodeBuffers::spans() {
  return {qo_indptr, kv_indptr, kv_indices, last_page_len};
}

struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const RowRange&) const = default;
};

struct DecodeMetadata {
  ResolvedShape shape;
  std::span<const std::int32_t> qo_indptr;      // [kernel requests + 1] rows
  std::span<const std::int32_t> kv_indptr;      // [kernel requests + 1] pages
  std::span<const std::int32_t> kv_indices;     // the whole buffer, live part first
  std::span<const std::int32_t> last_page_len;  // [kernel requests] tokens, 1 to page_size
  std::vector<std::int64_t> kv_lens;            // [kernel requests] tokens
  // Query rows that see no key. No kernel is relied on to write them: the launcher gives them
  // output 0 and LSE -inf (BUG-074, BUG-085).
  std::vector<RowRange> keyless_rows;
  std::optional<plan::Plan> plan;

  // Whether the persistent kernel may run: exactly when all six buffers are there.
  [[nodiscard]] bool has_persistent_metadata() const { return plan.has_value(); }
  [[nodiscard]] Requests requests() const {
    return Requests(static_cast<std::int64_t>(qo_indptr.size()) - 1);
  }
  // Of the launch: leading rows are among them.
  [[nodiscard]] Rows rows() const { return Rows(qo_indptr.back()); }
};

}  // namespace mla
