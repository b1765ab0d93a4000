// Pictures of plans: what is drawn is what the buffers hold, whatever they hold.
#include <random>
#include <set>

#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "properties/show/document.hpp"
#include "properties/show/drawn_plan.hpp"
#include "properties/show/error_map.hpp"
#include "properties/show/pictures.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::show;
using mla::test::contains;

namespace {

// A step with its lists and its plan, ready to be damaged.
struct Planned {
  DecodeBuffers lists;
  std::optional<DecodeMetadata> metadata;

  explicit Planned(const char* line) {
    const auto c = parse_case(line);
    REQUIRE(c.ok());
    const auto batch = make_batch(*c);
    const auto shape = resolve_shape(*c, *batch);
    REQUIRE(shape.ok());
    lists = make_decode_buffers(*c, *batch, *shape);
    auto built = DecodeMetadataBuilder({}, StepHooks::none()).build(*batch, *shape, lists);
    REQUIRE(built.ok());
    metadata.emplace(std::move(*built));
    REQUIRE(metadata->plan.has_value());
  }
  [[nodiscard]] plan::PlanCheckInput input(const plan::PlanView& view) const {
    return {.plan = view,
            .qo_indptr = metadata->qo_indptr,
            .kv_indptr = metadata->kv_indptr,
            .last_page_len = metadata->last_page_len,
            .shape = metadata->shape.plan,
            .causal = metadata->shape.causal,
            .kernel_masks = true,
            .page_size = metadata->shape.page_size,
            .max_qo_len = metadata->shape.max_qo_len};
  }
  [[nodiscard]] DrawnPlan drawn(std::vector<Finding> findings = {}) const {
    const PlannerPromise promise{.known = true,
                                 .granularity = metadata->shape.granularity,
                                 .max_split = metadata->shape.max_split};
    return draw_plan(input(metadata->plan->view()), promise, std::move(findings));
  }
};

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

constexpr const char* kReadme = "mla1:2q4s900_1q1s513;heads=8;block=16;cu=4";

}  // namespace

TEST_CASE("text is escaped for elements and attributes, and holds no control characters") {
  CHECK(escape("<a href=\"x\">&'") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  CHECK(escape("é→𝄞") == "é→𝄞");
  CHECK(escape(std::string("a\0b", 3)) ==
        "a\xEF\xBF\xBD"
        "b");
  CHECK(escape("\x1b[31m") == "\xEF\xBF\xBD[31m");
  CHECK(escape("a\xE2\x80\xAE"
               "b") ==
        "a\xEF\xBF\xBD"
        "b");                                               // right-to-left override
  CHECK(escape("\xC0\xBC") == "\xEF\xBF\xBD\xEF\xBF\xBD");  // an overlong '<'
  CHECK(escape("\xE0\x80\xBC") ==
        "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // the same in three bytes
  CHECK(escape("\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(escape("\xE2\x82") == "\xEF\xBF\xBD\xEF\xBF\xBD");  // cut off
}

TEST_CASE("numbers and ranges are written as people write them") {
  CHECK(number(2.0) == "2");
  CHECK(number(-0.001) == "0");
  CHECK(number(0.256) == "0.26");
  CHECK(count(1234567) == "1,234,567");
  CHECK(count(-1234) == "-1,234");
  CHECK(count(999) == "999");
  CHECK(counted(1, "work") == "1 work");
  CHECK(counted(0, "work") == "0 works");
  CHECK(span_text("key", 0, 784) == "keys 0–783");
  CHECK(span_text("key", 5, 6) == "key 5");
  CHECK(span_text("key", 5, 5) == "no keys");
  CHECK(axis_step(900, 8) == 200);
  CHECK(axis_step(3, 8) == 1);
}

TEST_CASE("a drawn plan has the works, merges and buffers of the README's plan") {
  const DrawnPlan d = Planned(kReadme).drawn();
  REQUIRE(d.works.size() == 6);
  CHECK(d.works[1].slot == 1);
  CHECK(d.works[1].request == 0);
  CHECK(d.works[1].key_begin == 784);
  CHECK(d.works[1].key_end == 900);
  CHECK(d.works[5].slot == 3);
  REQUIRE(d.tiles.size() == 3);
  CHECK(d.tiles[1].works == std::vector<std::int64_t>{2, 3});
  CHECK(d.tiles[1].row_begin == 4);
  REQUIRE(d.buffers.size() == 5);
  CHECK(d.buffers[1].capacity == 48);
  CHECK(d.buffers[1].used == 48);
  CHECK(d.buffers[4].used == 6);
  CHECK(d.share.payload == 65);
  CHECK(d.share.tail == 1);
  CHECK(d.blocks(d.works[0]) == 65);
  CHECK(d.visible(d.requests[0], 0) == 897);
  CHECK(d.visible(d.requests[0], 3) == 900);
}

TEST_CASE("heads that are folded become groups of a request, and pages become keys") {
  const DrawnPlan folded = Planned("mla1:2q1s900;heads=128;cu=20;dtype=bf16/bf16").drawn();
  REQUIRE(folded.fold > 1);
  CHECK(folded.request_name(folded.fold + 2) == "request 1 group 2");
  const DrawnPlan paged = Planned("mla1:1q1s900;heads=16;block=64;page=64;cu=2").drawn();
  CHECK(paged.works.back().key_end == 900);
}

TEST_CASE("no slot of planner v1.2 has more blocks than the drawn bound") {
  for (const char* line :
       {kReadme, "mla1:16q1s8k;heads=16", "mla1:3q4s900_5q2s77;heads=32;cu=20;split=3",
        "mla1:7q1s1k_1q1s32k;heads=128;cu=80", "mla1:5q3s4k;heads=16;cu=64;gran=64"}) {
    INFO(line);
    const DrawnPlan d = Planned(line).drawn();
    std::vector<std::int64_t> blocks(static_cast<std::size_t>(d.slots));
    for (const Work& w : d.works) blocks[static_cast<std::size_t>(w.slot)] += d.blocks(w);
    for (const std::int64_t b : blocks) CHECK(b <= d.share.payload + d.share.tail);
    CHECK_THAT(balance_picture(d).body, contains("the planner&#39;s bound"));
  }
}

TEST_CASE("a slot above the bound is red, and a note counts it") {
  DrawnPlan d = Planned(kReadme).drawn();
  d.share.payload = 50;
  const Picture p = balance_picture(d);
  CHECK(occurrences(p.body, "class=\"twice thin\"") == 3);
  CHECK(p.notes.back() == "3 slots above the bound.");
}

TEST_CASE("each work of a small plan is drawn once in each picture, with its record") {
  const DrawnPlan d = Planned(kReadme).drawn();
  for (const Picture& p : {slots_picture(d), requests_picture(d), merges_picture(d)})
    for (int w = 0; w < 6; ++w) {
      INFO(p.id << " work " << w);
      CHECK(occurrences(p.body, "data-w=\"" + std::to_string(w) + "\"") == 1);
    }
  CHECK_THAT(slots_picture(d).body, contains("work 1 (B) on slot 1\nrequest 0\nrows 0..4"));
  CHECK_THAT(requests_picture(d).body, contains("class=\"cut\""));
  CHECK_THAT(requests_picture(d).body, !contains("class=\"gap\""));
}

TEST_CASE("the mask shows for each row which keys it does not see") {
  const auto mask = mask_picture(Planned(kReadme).drawn());
  REQUIRE(mask.has_value());
  CHECK(occurrences(mask->body, "class=\"trim\"") == 3 + 2 + 1);
  CHECK_FALSE(mask_picture(Planned("mla1:2q1s900;cu=4").drawn()).has_value());
  CHECK_FALSE(mask_picture(Planned("mla1:2q4s900;cu=4;causal=0").drawn()).has_value());
}

TEST_CASE("keys that no work reads and keys that two works read are marked") {
  Planned planned(kReadme);
  plan::WorkItem w = planned.metadata->plan->work(0);
  w.kv_end -= 16;
  planned.metadata->plan->set_work(0, w);
  CHECK_THAT(requests_picture(planned.drawn()).body,
             contains("class=\"gap\"") && contains("keys that no work reads: 768..784"));
  w.kv_end += 32;
  planned.metadata->plan->set_work(0, w);
  CHECK_THAT(requests_picture(planned.drawn()).body,
             contains("class=\"twice\"") && contains("keys that two works read: 784..800"));
}

TEST_CASE("a finding outlines its work and is told in its record") {
  const DrawnPlan d = Planned(kReadme).drawn({{"coverage", "<b>bad</b>", 2}, {"rule", "far", 99}});
  CHECK(occurrences(slots_picture(d).body, " wrong") == 1);
  const std::string page = plan_page(d);
  CHECK_THAT(page, contains("WRONG: coverage: &lt;b&gt;bad&lt;/b&gt;"));
  CHECK_THAT(page, !contains("<b>bad</b>"));
  CHECK_THAT(page, contains("2 violations"));
}

TEST_CASE("partial rows that no work writes are said at their merge") {
  Planned planned(kReadme);
  planned.metadata->plan->reduce_partial_map.set(1, 77);
  CHECK_THAT(merges_picture(planned.drawn()).body, contains("partial row 77: nothing writes it"));
}

TEST_CASE("pages lie where kv_indices say, in runs") {
  DrawnPlan d = Planned("mla1:1q1s32;cu=1").drawn();
  CHECK(page_pictures(d).empty());
  for (int i = 0; i < 32; ++i) d.pages.push_back(i < 16 ? 100 + i : 10 + i);
  const auto pictures = page_pictures(d);
  REQUIRE(pictures.size() == 1);
  CHECK(occurrences(pictures[0].body, "lie at") == 2);
  CHECK_THAT(pictures[0].body, contains("pages 0..16 lie at 100..116"));
  CHECK_THAT(pictures[0].body, contains("pages 16..32 lie at 26..42"));
}

TEST_CASE("pages of 65,536 requests stay below 5 MB and say what they leave out") {
  const DrawnPlan d = Planned("mla1:65536q1s40;heads=16;cu=304").drawn();
  const std::string page = plan_page(d);
  CHECK(page.size() < 5'000'000);
  CHECK_THAT(page, contains("too narrow to be drawn one by one"));
  CHECK_THAT(page, contains("Shown are 48 of 65,536 tiles"));
  CHECK(plan_svg(d).size() < 5'000'000);
}

TEST_CASE("a plan of which every record is wrong stays below 5 MB") {
  Planned planned("mla1:20000q1s40;heads=16;cu=304");
  std::vector<Finding> findings;
  for (std::int64_t w = 0; w < 20000; ++w)
    findings.push_back({"coverage", std::string(80, 'x'), w});
  const DrawnPlan d = planned.drawn(std::move(findings));
  CHECK(plan_page(d).size() < 5'000'000);
  CHECK_THAT(plan_page(d), contains("and 19,800 findings more"));
}

TEST_CASE("buffers that hold anything are drawn without harm") {
  Planned planned(kReadme);
  std::mt19937 random(1);
  const auto view = planned.metadata->plan->view();
  for (int round = 0; round < 400; ++round) {
    const auto scrambled = [&](std::span<const std::int32_t> words) {
      std::vector<std::int32_t> out(words.begin(), words.end());
      for (std::int32_t& word : out)
        if (random() % 4 == 0)
          word = random() % 2 == 0 ? static_cast<std::int32_t>(random())
                                   : static_cast<std::int32_t>(random() % 12) - 2;
      out.resize(random() % 3 == 0 ? random() % (out.size() + 1) : out.size());
      return out;
    };
    const auto a = scrambled(view.work_indptr), b = scrambled(view.reduce_indptr),
               c = scrambled(view.reduce_final_map), e = scrambled(view.reduce_partial_map);
    auto info = scrambled(view.work_info);
    info.resize(info.size() / 8 * 8);
    const plan::PlanView found{view.work_meta_data, {a, info, b, c, e}};
    const DrawnPlan d = draw_plan(planned.input(found), {}, {});
    for (const Work& w : d.works) CHECK(w.keys() >= 0);
    const std::string page = plan_page(d) + plan_svg(d) + plan_trace(d);
    CHECK(page.size() < 1'000'000);
    CHECK_THAT(page, !contains("nan") && !contains("inf\""));
    CHECK_THAT(page, !contains("width=\"-") && !contains("height=\"-"));
  }
}

TEST_CASE("a trace has a box for each work, one after the other on its slot") {
  const std::string trace = plan_trace(Planned(kReadme).drawn());
  CHECK(occurrences(trace, "\"cat\":\"work\"") == 6);
  CHECK(occurrences(trace, "\"thread_name\"") == 4);
  CHECK_THAT(trace, contains(R"("ts":24,"dur":41,"pid":1,"tid":1)"));
  CHECK(occurrences(trace, "\"ph\":\"s\"") == 6);
}

TEST_CASE("a page loads nothing") {
  const std::string page = plan_page(Planned(kReadme).drawn());
  CHECK_THAT(page, contains("default-src 'none'"));
  CHECK_THAT(page, !contains("src=\"") && !contains("@import") && !contains("url("));
}

TEST_CASE("an error map has the level of each row and head, neighbours of one level together") {
  ErrorMap map;
  map.rows = 2;
  map.heads = 4;
  map.pairs = {0.1F, 0.2F, 3, 200, kUnwritten, kNotJudged, 1, 1.01F};
  const auto pictures = error_pictures(map, "the result");
  REQUIRE(pictures.size() == 1);
  const std::string& body = pictures[0].body;
  CHECK_THAT(body, contains("row 0, heads 0–1: at most 0.2 times the bound"));
  CHECK_THAT(body, contains("class=\"h2\"") && contains("row 0, head 2: at most 3 times"));
  CHECK_THAT(body, contains("row 0, head 3: at most 200 times"));
  CHECK_THAT(body, contains("row 1, head 0: at most never written, or not finite"));
  CHECK_THAT(body, contains("row 1, head 1: at most not judged"));
  CHECK(occurrences(body, "class=\"h1\"") == 2);  // the legend and head 2
  CHECK(occurrences(body, "class=\"h2\"") == 3);  // the legend, and one in each row
}

TEST_CASE("an error map of many rows keeps the worst element of those drawn together") {
  ErrorMap map;
  map.rows = 6400;
  map.heads = 300;
  map.pairs.assign(6400 * 300, 0.1F);
  map.pairs[123 * 300 + 299] = 50;
  map.worst_row = 123;
  map.dims = 512;
  map.worst_dims.assign(300 * 512, std::numeric_limits<float>::quiet_NaN());
  const auto pictures = error_pictures(map, "the result");
  REQUIRE(pictures.size() == 2);
  CHECK_THAT(pictures[0].body, contains("rows 100–199, heads 297–299: at most 50 times the bound"));
  CHECK(pictures[0].notes.size() == 1);
  CHECK(pictures[0].body.size() + pictures[1].body.size() < 500'000);
  CHECK_THAT(pictures[1].body, contains("class=\"h5\""));
  CHECK(error_pictures({}, "nothing").empty());
}
