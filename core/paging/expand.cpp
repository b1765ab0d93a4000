#include "core/paging/expand.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/say.hpp"

namespace mla {
namespace {

Error overrun(const std::string& what) {
  return {ErrorCode::overrun, what};
}

MaybeError check_request(const ExpandInput& input, std::size_t r, std::int64_t capacity) {
  const std::int64_t begin = input.kv_indptr[r];
  const std::int64_t end = input.kv_indptr[r + 1];
  const std::string request = say("request ", r);
  if (begin < 0 || end < begin)
    return overrun(say(request, ": kv_indptr runs from ", begin, " to ", end));
  if (end > capacity)
    return overrun(say(request, ": kv_indices has ", capacity, " entries, ", end, " are needed"));
  const std::int64_t blocks = ceil_div(end - begin, input.pages_per_block);
  const std::int64_t row = input.table_rows[r];
  if (blocks > 0 && (row < 0 || row >= input.table.rows))
    return overrun(say(request, ": block table row ", row, " of ", input.table.rows));
  if (blocks > input.table.columns)
    return overrun(
        say(request, ": ", blocks, " blocks, the table has ", input.table.columns, " columns"));
  for (std::int64_t j = 0; j < blocks; ++j) {
    const std::int64_t last =
        (std::int64_t{input.table.at(row, j)} + 1) * input.pages_per_block - 1;
    if (last < 0 || last > std::numeric_limits<std::int32_t>::max())
      return Error{ErrorCode::unsupported,
                   say(request, ": block ", input.table.at(row, j), " of ", input.pages_per_block,
                       " pages leaves int32"),
                   "BUG-057"};
  }
  return std::nullopt;
}

}  // namespace

MaybeError expand_pages(const ExpandInput& input, const ExpandGrid& grid,
                        std::span<std::int32_t> out) {
  const std::size_t requests = input.kv_indptr.size() - 1;
  for (std::size_t r = 0; r < requests; ++r)
    if (MaybeError bad = check_request(input, r, static_cast<std::int64_t>(out.size()))) return bad;
  for (std::size_t r = 0; r < requests; ++r) {
    const std::int64_t begin = input.kv_indptr[r];
    const std::int64_t pages = input.kv_indptr[r + 1] - begin;
    for (std::int64_t program = 0; program < grid.programs; ++program)
      for (std::int64_t first = program * grid.chunk; first < pages;
           first += grid.programs * grid.chunk)
        for (std::int64_t t = first; t < std::min(first + grid.chunk, pages); ++t) {
          const std::int64_t block = input.table.at(input.table_rows[r], t / input.pages_per_block);
          out[static_cast<std::size_t>(begin + t)] =
              static_cast<std::int32_t>(block * input.pages_per_block + t % input.pages_per_block);
        }
  }
  return std::nullopt;
}

}  // namespace mla
