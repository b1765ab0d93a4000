// P01: expanding a block table gives, for every page size ratio, stride and launch, what a scalar
// loop gives, and touches nothing else. Source: vllm_metadata.md 1.5.
#include <limits>

#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

constexpr std::int32_t kCanary = -77;
// What table cells hold that no page needs: far outside, so that reading one shows.
constexpr std::int32_t kForbidden = std::numeric_limits<std::int32_t>::max();

// One expansion with its table, in a layout drawn from the dice.
struct Drawn {
  std::vector<std::int32_t> cells;
  BlockTableView table;
  std::vector<std::int32_t> kv_indptr;
  std::vector<std::int64_t> table_rows;
  std::int64_t pages_per_block = 1;
  ExpandGrid grid;
};

Drawn draw(Dice& dice, std::int64_t pages_per_block) {
  Drawn d;
  d.pages_per_block = pages_per_block;
  const std::int64_t requests = dice.between(1, 4);
  d.kv_indptr.push_back(static_cast<std::int32_t>(dice.below(5)));
  std::int64_t columns = 1;
  for (std::int64_t r = 0; r < requests; ++r) {
    const std::int64_t pages = dice.below(4) == 0 ? 0 : dice.below(3 * pages_per_block + 40);
    d.kv_indptr.push_back(d.kv_indptr.back() + static_cast<std::int32_t>(pages));
    d.table_rows.push_back(requests - 1 - r);
    columns = std::max(columns, ceil_div(pages, pages_per_block));
  }
  // Rows next to each other with a gap, or the transposed table.
  const bool transposed = dice.below(2) == 0;
  const std::int64_t row_stride = transposed ? 1 : columns + dice.below(4);
  const std::int64_t column_stride = transposed ? requests + dice.below(3) : 1;
  d.cells.assign(static_cast<std::size_t>(requests * row_stride + columns * column_stride),
                 kForbidden);
  for (std::int64_t r = 0; r < requests; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const std::int64_t blocks = ceil_div(d.kv_indptr[i + 1] - d.kv_indptr[i], pages_per_block);
    for (std::int64_t j = 0; j < blocks; ++j)
      d.cells[static_cast<std::size_t>(d.table_rows[i] * row_stride + j * column_stride)] =
          static_cast<std::int32_t>(dice.below(1 << 20));
  }
  d.table = {d.cells.data(), requests, columns, row_stride, column_stride};
  d.grid = {dice.between(1, 5), dice.pick(std::vector<std::int64_t>{1, 7, 64, 1024})};
  return d;
}

std::vector<std::int32_t> scalar_expansion(const Drawn& d, std::size_t size) {
  std::vector<std::int32_t> out(size, kCanary);
  for (std::size_t r = 0; r < d.table_rows.size(); ++r)
    for (std::int32_t at = d.kv_indptr[r]; at < d.kv_indptr[r + 1]; ++at) {
      const std::int64_t page = at - d.kv_indptr[r];
      const std::int64_t block = d.table.at(d.table_rows[r], page / d.pages_per_block);
      out[static_cast<std::size_t>(at)] =
          static_cast<std::int32_t>(block * d.pages_per_block + page % d.pages_per_block);
    }
  return out;
}

std::string describe(const Drawn& d) {
  return std::to_string(d.pages_per_block) + " pages a block, strides " +
         std::to_string(d.table.row_stride) + "/" + std::to_string(d.table.column_stride) + ", " +
         std::to_string(d.grid.programs) + " programs of " + std::to_string(d.grid.chunk) +
         " pages";
}

}  // namespace

Outcome p01_expand_exact(Subject& subject) {
  const Functions functions = functions_of(subject);
  Dice dice(subject.spec(), "P01");
  // One page a block is a plain copy; then any other ratio.
  for (const std::int64_t ratio : {std::int64_t{1}, dice.between(2, 16), dice.between(17, 128)}) {
    const Drawn d = draw(dice, ratio);
    const auto size = static_cast<std::size_t>(d.kv_indptr.back()) + 8;
    std::vector<std::int32_t> out(size, kCanary);
    const ExpandInput input{d.table, d.kv_indptr, d.table_rows, ratio};
    if (const Status bad = functions.expand_pages(input, d.grid, out))
      return failed("the expansion refuses a sound table (" + describe(d) + "): " + bad->message);
    const std::vector<std::int32_t> want = scalar_expansion(d, size);
    for (std::size_t i = 0; i < size; ++i)
      if (out[i] != want[i])
        return failed("kv_indices[" + std::to_string(i) + "] is " + std::to_string(out[i]) +
                      ", a scalar loop gives " + std::to_string(want[i]) + " (" + describe(d) +
                      "; " + std::to_string(kCanary) + " means untouched)");
  }
  return passed();
}

}  // namespace mla::prop
