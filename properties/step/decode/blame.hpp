// Blame: which work items of the plan produced one row of the output.
//
// Owns the way back from an element of the final output, (query row, model head), to the kernel row
// that held it (aiter.md 4: folded rows are ordered request, group, row) and to the works and the
// merge that wrote it. Units: rows, pages and tokens as printed. A row that
// no work covers is reported as such: that is the defect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/decode_metadata.hpp"

namespace mla::prop {

// The kernel row that holds head `head` of query row `row`.
std::int64_t kernel_row_of(const ResolvedShape& shape, std::int64_t row, std::int64_t head);

// One line for each work that covers the row (slot and record), then one for its merge. At most
// `limit` works are named; a last line says how many more there are.
std::vector<std::string> guilty_works(const DecodeMetadata& metadata, std::int64_t row,
                                      std::int64_t head, std::size_t limit);

}  // namespace mla::prop
