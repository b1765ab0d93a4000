// P01: expanding a block table gives, for every page size ratio, stride and launch, what a scalar
// loop gives, and touches nothing else; an unsound table is refused. Source: vllm_metadata.md 1.5.
#include <limits>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

constexpr std::int32_t kCanary = -77;
// What table cells hold that no page needs: far outside, so that reading one shows.
constexpr std::int32_t kForbidden = std::numeric_limits<std::int32_t>::max();

// One expansion with its table, in a layout drawn from the random.
struct Drawn {
  std::vector<std::int32_t> cells;
  BlockTableView table;
  std::vector<std::int32_t> kv_indptr;
  std::vector<std::int64_t> table_rows;
  std::int64_t pages_per_block = 1;
  ExpandGrid grid;
};

Drawn draw(Random& random, std::int64_t pages_per_block) {
  Drawn d;
  d.pages_per_block = pages_per_block;
  const std::int64_t requests = random.between(1, 4);
  d.kv_indptr.push_back(static_cast<std::int32_t>(random.below(5)));
  std::int64_t columns = 1;
  for (std::int64_t r = 0; r < requests; ++r) {
    const std::int64_t pages = random.below(4) == 0 ? 0 : random.below(3 * pages_per_block + 40);
    d.kv_indptr.push_back(d.kv_indptr.back() + static_cast<std::int32_t>(pages));
    // Where no page is needed no row of the table is read, whichever it would be.
    d.table_rows.push_back(pages > 0 ? requests - 1 - r
                                     : random.pick(std::vector<std::int64_t>{-1, 0, requests}));
    columns = std::max(columns, ceil_div(pages, pages_per_block));
  }
  // Rows next to each other with a gap, or the transposed table.
  const bool transposed = random.below(2) == 0;
  const std::int64_t row_stride = transposed ? 1 : columns + random.below(4);
  const std::int64_t column_stride = transposed ? requests + random.below(3) : 1;
  d.cells.assign(static_cast<std::size_t>(requests * row_stride + columns * column_stride),
                 kForbidden);
  for (std::int64_t r = 0; r < requests; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const std::int64_t blocks = ceil_div(d.kv_indptr[i + 1] - d.kv_indptr[i], pages_per_block);
    for (std::int64_t j = 0; j < blocks; ++j)
      d.cells[static_cast<std::size_t>(d.table_rows[i] * row_stride + j * column_stride)] =
          static_cast<std::int32_t>(random.below(1 << 20));
  }
  d.table = {d.cells.data(), requests, columns, row_stride, column_stride};
  d.grid = {random.between(1, 5), random.pick(std::vector<std::int64_t>{1, 7, 64, 1024})};
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

// `apply` says whether the table can have this damage; `room` is the length of kv_indices.
struct InputDamage {
  const char* what;
  bool (*apply)(Drawn& d, std::size_t& room);
};

// The first page past int32 is that of this block.
std::int64_t first_block_too_far(std::int64_t pages_per_block) {
  return (std::int64_t{1} << 31) / pages_per_block;
}

bool put_first_block(Drawn& d, std::int64_t block) {
  if (d.kv_indptr[1] == d.kv_indptr[0] || block > std::numeric_limits<std::int32_t>::max())
    return false;
  d.cells[static_cast<std::size_t>(d.table_rows[0] * d.table.row_stride)] =
      static_cast<std::int32_t>(block);
  return true;
}

constexpr InputDamage kDamages[] = {
    {"kv_indptr that runs backwards",
     [](Drawn& d, std::size_t&) { return d.kv_indptr[1] = d.kv_indptr[0] - 1, true; }},
    {"kv_indptr from -1",
     [](Drawn& d, std::size_t&) { return d.kv_indptr[0] = d.kv_indptr[1] = -1, true; }},
    {"a kv_indices that is an entry short",
     [](Drawn& d, std::size_t& room) {
       if (d.kv_indptr.back() == d.kv_indptr.front()) return false;
       return room = static_cast<std::size_t>(d.kv_indptr.back()) - 1, true;
     }},
    {"a table row before the first",
     [](Drawn& d, std::size_t&) { return d.table_rows[0] = -1, d.kv_indptr[1] > d.kv_indptr[0]; }},
    {"a table row after the last",
     [](Drawn& d, std::size_t&) {
       return d.table_rows[0] = d.table.rows, d.kv_indptr[1] > d.kv_indptr[0];
     }},
    {"a column too few",
     [](Drawn& d, std::size_t&) {
       d.table.columns = ceil_div(d.kv_indptr[1] - d.kv_indptr[0], d.pages_per_block) - 1;
       return d.table.columns >= 0;
     }},
    {"a block before the first", [](Drawn& d, std::size_t&) { return put_first_block(d, -1); }},
    {"a block whose last page leaves int32",
     [](Drawn& d, std::size_t&) {
       return put_first_block(d, first_block_too_far(d.pages_per_block));
     }},
};

std::optional<std::string> taken_though_unsound(const Functions& functions, const Drawn& sound) {
  for (const InputDamage& damage : kDamages) {
    Drawn d = sound;
    d.table.data = d.cells.data();
    std::size_t room = static_cast<std::size_t>(d.kv_indptr.back()) + 8;
    if (!damage.apply(d, room)) continue;
    std::vector<std::int32_t> out(room, kCanary);
    if (!functions.expand_pages({d.table, d.kv_indptr, d.table_rows, d.pages_per_block}, d.grid,
                                out))
      return say("the expansion takes ", damage.what);
    for (const std::int32_t entry : out)
      if (entry != kCanary) return say("the expansion refuses ", damage.what, " and writes");
  }
  return std::nullopt;
}

std::string describe(const Drawn& d) {
  return say(d.pages_per_block, " pages a block, strides ", d.table.row_stride, "/",
             d.table.column_stride, ", ", d.grid.programs, " programs of ", d.grid.chunk, " pages");
}

Outcome expand_exact(Subject& subject) {
  const Functions functions = functions_of(subject);
  Random random(subject.spec(), "P01");
  // One page a block is a plain copy; then any other ratio.
  for (const std::int64_t ratio :
       {std::int64_t{1}, random.between(2, 16), random.between(17, 128)}) {
    Drawn d = draw(random, ratio);
    if (const auto why = taken_though_unsound(functions, d)) return failed(*why);
    put_first_block(d, first_block_too_far(ratio) - 1);
    const auto size = static_cast<std::size_t>(d.kv_indptr.back()) + 8;
    std::vector<std::int32_t> out(size, kCanary);
    const ExpandInput input{d.table, d.kv_indptr, d.table_rows, ratio};
    if (const MaybeError bad = functions.expand_pages(input, d.grid, out))
      return failed("the expansion refuses a sound table (" + describe(d) + "): " + bad->message);
    const std::vector<std::int32_t> want = scalar_expansion(d, size);
    for (std::size_t i = 0; i < size; ++i)
      if (out[i] != want[i])
        return failed(say("kv_indices[", i, "] is ", out[i], ", a scalar loop gives ", want[i],
                          " (", describe(d), "; ", kCanary, " means untouched)"));
  }
  return passed();
}

}  // namespace

constexpr Property kP01{"P01", "expand_exact",
                        "Expanding a block table equals a scalar loop for every ratio, stride and "
                        "launch, and writes nothing else; an unsound table is refused.",
                        expand_exact};

}  // namespace mla::prop
