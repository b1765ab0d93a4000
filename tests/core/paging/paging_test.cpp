// Claims about block-size negotiation and page expansion.
#include <algorithm>
#include <random>

#include "core/paging/block_size.hpp"
#include "core/paging/expand.hpp"
#include "tests/catch.hpp"

using namespace mla;

TEST_CASE("block sizes: the Eagle3 case fails with a multiple of 16 and works with any size",
          "[paging][P27]") {
  const SupportedSizes latent_only{std::int64_t{1}};
  const auto failed = select_common_block_size(16, {latent_only, {MultipleOf{16}}});
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message == "No common block size for 16.");
  const auto common = select_common_block_size(16, {{MultipleOf{1}}, {MultipleOf{16}}});
  REQUIRE(common.ok());
  CHECK(*common == 16);
}

TEST_CASE("block sizes: the manager's size wins, then the largest integer that divides it",
          "[paging][P27]") {
  CHECK(*select_common_block_size(64, {{MultipleOf{16}}}) == 64);
  CHECK(*select_common_block_size(64, {{std::int64_t{16}, std::int64_t{32}}}) == 32);
  CHECK(*select_common_block_size(48, {{std::int64_t{16}, std::int64_t{32}}}) == 16);
  CHECK(*select_common_block_size(128, {{std::int64_t{16}, std::int64_t{32}}, {MultipleOf{16}}}) ==
        32);
  CHECK_FALSE(
      select_common_block_size(128, {{std::int64_t{16}, std::int64_t{32}}, {std::int64_t{128}}})
          .ok());
  CHECK_FALSE(select_common_block_size(16, {SupportedSizes{}}).ok());
  CHECK_FALSE(select_common_block_size(0, {{MultipleOf{1}}}).ok());
}

namespace {

struct Expansion {
  std::vector<std::int32_t> table;
  std::vector<std::int32_t> kv_indptr;
  std::vector<std::int64_t> rows;
  std::int64_t columns = 0;
  [[nodiscard]] ExpandInput input(std::int64_t pages_per_block) const {
    return {.table = {table.data(), static_cast<std::int64_t>(table.size()) / columns, columns,
                      columns, 1},
            .kv_indptr = kv_indptr,
            .table_rows = rows,
            .pages_per_block = pages_per_block};
  }
};

}  // namespace

TEST_CASE("block sizes: every pair of short lists agrees with a search over all sizes",
          "[paging][P27]") {
  std::vector<SupportedSize> entries;
  for (const std::int64_t s : {1, 2, 3, 4, 6, 8}) entries.emplace_back(s);
  for (const std::int64_t b : {1, 2, 3, 4}) entries.emplace_back(MultipleOf{b});
  std::vector<SupportedSizes> lists;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    lists.push_back({entries[i]});
    for (std::size_t j = i + 1; j < entries.size(); ++j) lists.push_back({entries[i], entries[j]});
  }
  const auto takes = [](const SupportedSize& entry, std::int64_t size) {
    const auto* exact = std::get_if<std::int64_t>(&entry);
    return exact != nullptr ? *exact == size : size % std::get<MultipleOf>(entry).base == 0;
  };
  const auto any_takes = [&](const SupportedSizes& list, std::int64_t size) {
    return std::any_of(list.begin(), list.end(), [&](const auto& e) { return takes(e, size); });
  };
  std::int64_t found = 0;
  std::int64_t none = 0;
  for (const SupportedSizes& a : lists)
    for (const SupportedSizes& b : lists)
      for (std::int64_t manager = 1; manager <= 12; ++manager) {
        // The manager's own size, then every divisor that some list names, the largest first.
        std::int64_t want = any_takes(a, manager) && any_takes(b, manager) ? manager : 0;
        for (std::int64_t s = manager; want == 0 && s >= 1; --s) {
          const auto names = [s](const SupportedSize& e) {
            const auto* exact = std::get_if<std::int64_t>(&e);
            return exact != nullptr && *exact == s;
          };
          const bool named =
              std::any_of(a.begin(), a.end(), names) || std::any_of(b.begin(), b.end(), names);
          if (named && manager % s == 0 && any_takes(a, s) && any_takes(b, s)) want = s;
        }
        const auto got = select_common_block_size(manager, {a, b});
        REQUIRE((got ? *got : 0) == want);
        ++(want > 0 ? found : none);
      }
  CHECK(found > 10000);
  CHECK(none > 5000);
}

TEST_CASE("expansion: the worked example of the remapping change", "[paging][P01]") {
  const Expansion e{{0, 2, 4}, {0, 10}, {0}, 3};
  std::vector<std::int32_t> out(10, -7);
  REQUIRE_FALSE(expand_pages(e.input(4), {.programs = 1, .chunk = 1024}, out).has_value());
  CHECK(out == std::vector<std::int32_t>{0, 1, 2, 3, 8, 9, 10, 11, 16, 17});
}

TEST_CASE("expansion: every grid writes the same entries and no others", "[paging][P01]") {
  std::mt19937_64 random(5);
  for (std::int64_t per_block : {1, 3, 16, 255}) {
    Expansion e{{}, {0}, {0, 1, 2}, 9};
    for (int i = 0; i < 27; ++i) e.table.push_back(static_cast<std::int32_t>(random() % 100000));
    for (int r = 0; r < 3; ++r)
      e.kv_indptr.push_back(e.kv_indptr.back() +
                            static_cast<std::int32_t>(random() % (per_block * 9 + 1)));
    std::vector<std::int32_t> plain(static_cast<std::size_t>(e.kv_indptr.back()) + 5, -7);
    REQUIRE_FALSE(expand_pages(e.input(per_block), {.programs = 1, .chunk = 1024}, plain));
    CHECK(std::count(plain.end() - 5, plain.end(), -7) == 5);
    for (const ExpandGrid grid : {ExpandGrid{1, 1}, ExpandGrid{7, 3}, ExpandGrid{500, 16}}) {
      std::vector<std::int32_t> out(plain.size(), -7);
      REQUIRE_FALSE(expand_pages(e.input(per_block), grid, out));
      CHECK(out == plain);
    }
  }
}

TEST_CASE("expansion: what does not fit is refused before anything is written", "[paging][P06]") {
  const Expansion e{{5, 9}, {0, 8}, {0}, 2};
  std::vector<std::int32_t> small(7, -7);
  const auto too_small = expand_pages(e.input(4), {.programs = 1, .chunk = 4}, small);
  REQUIRE(too_small.has_value());
  CHECK(too_small->message.find("7 entries, 8 are needed") != std::string::npos);
  CHECK(std::count(small.begin(), small.end(), -7) == 7);

  const Expansion narrow{{5, 9}, {0, 9}, {0}, 2};
  std::vector<std::int32_t> out(9, -7);
  CHECK(expand_pages(narrow.input(4), {.programs = 1, .chunk = 4}, out)->code ==
        ErrorCode::overrun);

  const Expansion wide{{8388608}, {0, 1}, {0}, 1};
  const auto beyond = expand_pages(wide.input(256), {.programs = 1, .chunk = 4}, out);
  REQUIRE(beyond.has_value());
  CHECK(beyond->message.find("8388608") != std::string::npos);
  CHECK(out[0] == -7);
}

TEST_CASE("expansion: page ids run from 0 to the largest int32", "[paging][P17]") {
  std::vector<std::int32_t> out(1, -7);
  const auto refused = [&](std::int32_t block, std::int64_t pages_per_block) {
    const Expansion e{{block}, {0, 1}, {0}, 1};
    return expand_pages(e.input(pages_per_block), {.programs = 1, .chunk = 4}, out).has_value();
  };
  CHECK_FALSE(refused(0, 1));
  CHECK_FALSE(refused(2147483647, 1));
  CHECK(out[0] == 2147483647);
  CHECK(refused(-1, 1));
  CHECK(refused(-1, 16));
  CHECK_FALSE(refused(8388607, 256));
  CHECK(out[0] == 8388607 * 256);
  CHECK(refused(8388608, 256));
}
