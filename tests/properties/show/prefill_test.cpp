// Pictures of prefill plans: works have a part of the heads, and tiles have a part of the rows.
#include <algorithm>
#include <optional>
#include <random>

#include "core/plan/ps_prefill.hpp"
#include "properties/show/document.hpp"
#include "properties/show/drawn_plan.hpp"
#include "properties/show/pictures.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::show;
using mla::test::contains;

namespace {

constexpr std::int64_t kHeads = 4;

// Two requests of 300 and 64 rows on three slots: request 0 has two tiles of rows.
struct PlannedPrefill {
  std::vector<std::int32_t> qo_indptr{0, 300, 364};
  std::vector<std::int32_t> kv_indptr{0, 300, 364};
  std::vector<std::int32_t> context_lens{300, 64};
  std::optional<plan::Plan> made;

  PlannedPrefill() {
    const auto sizes = plan::query_ps_sizes({.compute_units = ComputeUnits(3),
                                             .batch = Requests(2),
                                             .kv_heads = Heads(kHeads),
                                             .max_qo_len = 300});
    REQUIRE(sizes.ok());
    auto planned = plan::plan_ps_prefill({.compute_units = ComputeUnits(3),
                                          .kv_heads = Heads(kHeads),
                                          .qo_indptr = qo_indptr,
                                          .kv_indptr = kv_indptr,
                                          .context_lens = context_lens,
                                          .kvlen_granularity = 128,
                                          .block_size = 1},
                                         *sizes);
    REQUIRE(planned.ok());
    made.emplace(std::move(*planned));
  }
  [[nodiscard]] DrawnPlan drawn(const plan::PlanView& view,
                                std::vector<Finding> findings = {}) const {
    return draw_prefill_plan({.plan = view,
                              .qo_indptr = qo_indptr,
                              .kv_indptr = kv_indptr,
                              .context_lens = context_lens,
                              .heads = Heads(kHeads)},
                             128, std::move(findings));
  }
  [[nodiscard]] DrawnPlan drawn(std::vector<Finding> findings = {}) const {
    return drawn(made->view(), std::move(findings));
  }
};

std::size_t lines_of(const Picture& p, const std::string& request) {
  std::size_t n = 0;
  for (std::size_t at = p.body.find(request); at != std::string::npos;
       at = p.body.find(request, at + 1))
    ++n;
  return n;
}

}  // namespace

TEST_CASE("works of a prefill plan are named by request and head, and see what their rows see") {
  const DrawnPlan d = PlannedPrefill().drawn();
  std::vector<std::int64_t> works(kHeads);
  for (const Work& w : d.works) {
    REQUIRE(w.head < kHeads);
    ++works[static_cast<std::size_t>(w.head)];
    CHECK(d.work_name(w) ==
          "request " + std::to_string(w.request) + " head " + std::to_string(w.head));
  }
  for (const std::int64_t n : works) CHECK(n == works.front());
  CHECK(d.visible(d.requests[0], 255) == 256);
  CHECK(d.blocks(d.works[0]) == 2);  // 256 keys in blocks of 128
  CHECK_THAT(slots_picture(d).body, contains("\nrequest 0 head 1\nrows 0..256"));
}

TEST_CASE("heads of a tile that are cut alike have one line, another or a wrong one has its own") {
  PlannedPrefill planned;
  const Picture whole = requests_picture(planned.drawn());
  CHECK(lines_of(whole, ">request 0, rows 0–255<") == 1);
  CHECK(lines_of(whole, ">request 0, rows 256–299<") == 1);
  CHECK(lines_of(whole, ">request 1, 64 rows<") == 1);
  REQUIRE_FALSE(whole.notes.empty());
  CHECK(whole.notes[0] == "Heads of the same rows that are cut alike are drawn once.");
  CHECK_THAT(whole.body, contains("keys that the mask hides from all rows of this tile: 256..300"));

  const DrawnPlan d = planned.drawn();
  const auto last = std::find_if(d.works.begin(), d.works.end(), [](const Work& w) {
    return w.request == 1 && w.head == kHeads - 1;
  });
  REQUIRE(last != d.works.end());
  const Picture wrong = requests_picture(planned.drawn({{"coverage", "bad", last->index}}));
  CHECK(lines_of(wrong, ">request 1, 64 rows<") == 1);
  CHECK(lines_of(wrong, ">request 1, 64 rows, head 3<") == 1);
  plan::WorkItem w = planned.made->work(last->index);
  w.kv_end -= 16;
  planned.made->set_work(last->index, w);
  CHECK(lines_of(requests_picture(planned.drawn()), ">request 1, 64 rows<") == 2);
}

TEST_CASE("a merge of a prefill plan has a piece for all heads") {
  const DrawnPlan d = PlannedPrefill().drawn();
  REQUIRE_FALSE(d.tiles.empty());
  const Picture p = merges_picture(d);
  std::size_t pieces = 0;
  for (const Tile& tile : d.tiles) pieces += tile.works.size();
  CHECK(lines_of(p, "→ partial row") == pieces);
  CHECK_THAT(p.notes.back(), contains("The works of all heads write a piece"));
}

TEST_CASE("prefill buffers that hold anything are drawn without harm") {
  const PlannedPrefill planned;
  std::mt19937 random(1);
  const auto view = planned.made->view();
  for (int round = 0; round < 200; ++round) {
    const auto scrambled = [&](std::span<const std::int32_t> words) {
      std::vector<std::int32_t> out(words.begin(), words.end());
      for (std::int32_t& word : out)
        if (random() % 4 == 0) word = static_cast<std::int32_t>(random());
      return out;
    };
    const auto a = scrambled(view.work_indptr), b = scrambled(view.reduce_indptr),
               c = scrambled(view.reduce_final_map), e = scrambled(view.reduce_partial_map),
               info = scrambled(view.work_info);
    const DrawnPlan d = planned.drawn({view.work_meta_data, {a, info, b, c, e}});
    const std::string page = plan_page(d) + plan_svg(d) + plan_trace(d);
    CHECK(page.size() < 1'000'000);
    CHECK_THAT(page, !contains("width=\"-") && !contains("height=\"-"));
  }
}
