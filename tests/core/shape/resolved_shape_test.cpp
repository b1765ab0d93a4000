// Claims about the one place where heads, folding, kernels and routes are decided.
#include "core/shape/resolved_shape.hpp"

#include <set>

#include "core/say.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

Result<ResolvedShape> resolve(const std::string& line) {
  const auto c = parse_case(line);
  REQUIRE(c.ok());
  const auto batch = make_batch(*c);
  REQUIRE(batch.ok());
  return resolve_shape(*c, *batch);
}

}  // namespace

TEST_CASE("heads: padding and un-padding agree for 1 to 128 heads", "[shape][P14]") {
  for (std::int64_t model = 1; model <= 128; ++model) {
    const auto padding = resolve_head_padding(Heads(model));
    REQUIRE(padding.ok());
    const std::int64_t kernel = padding->kernel.count();
    CHECK(kernel % 16 == 0);
    CHECK(kernel - model < 16);
    for (std::int64_t h = 0; h < model; ++h) CHECK(padding->source(padding->position(h)) == h);
    std::vector<bool> copied(static_cast<std::size_t>(model), false);
    for (std::int64_t p = 0; p < kernel; ++p) {
      const std::int64_t from = padding->source(p);
      REQUIRE(from >= 0);
      REQUIRE(from < model);
      copied[static_cast<std::size_t>(from)] = true;
    }
    CHECK(std::find(copied.begin(), copied.end(), false) == copied.end());
  }
  CHECK_FALSE(resolve_head_padding(Heads(0)).ok());
  CHECK_FALSE(resolve_head_padding(Heads(129)).ok());
}

TEST_CASE("heads: divisors of 16 repeat, others run cyclically", "[shape][P14]") {
  const HeadPadding eight = *resolve_head_padding(Heads(8));
  CHECK(eight.source(1) == 0);
  CHECK(eight.position(1) == 2);
  const HeadPadding twelve = *resolve_head_padding(Heads(12));
  CHECK(twelve.source(12) == 0);
  CHECK(twelve.position(11) == 11);
  CHECK((*resolve_head_padding(Heads(24))).kernel == Heads(32));
  CHECK((*resolve_head_padding(Heads(40))).kernel == Heads(48));
}

TEST_CASE("route: one decision, with its reason, for every kind of step", "[shape][P28]") {
  struct Expect {
    const char* line;
    Route route;
    const char* reason;
  };
  const Expect expect[] = {
      {"mla1:2q4s9", Route::persistent, "takes these requests"},
      {"mla1:2q5s9", Route::persistent_rows, "no persistent kernel for 16 heads, 5 query rows"},
      {"mla1:2q5s9;arch=gfx950", Route::persistent, "takes these requests"},
      {"mla1:1q2s9_1q4s9;heads=128", Route::persistent_rows, "the same number of rows"},
      {"mla1:1q2s9_1q4s9;heads=32;dtype=fp8/fp8", Route::persistent_rows,
       "the same number of rows"},
      {"mla1:1q2s9_1q4s9", Route::persistent, "takes these requests"},
      {"mla1:2q2s9;causal=0", Route::persistent_rows, "always masks"},
      {"mla1:2q2s9;causal=0;arch=gfx950", Route::persistent, "takes these requests"},
      {"mla1:2q1s9;causal=0", Route::persistent, "takes these requests"},
      {"mla1:32q1s9;arch=gfx950", Route::split, "PERSISTENT_MAX_BATCH"},
      {"mla1:31q1s9;arch=gfx950", Route::persistent, "takes these requests"},
      {"mla1:32q1s9;arch=gfx950;planner=v12", Route::persistent, "takes these requests"},
      {"mla1:2q1s9;planner=none", Route::split, "asks for no plan"},
      {"mla1:2q3s9;arch=gfx950;dtype=fp8/fp8;heads=48", Route::persistent_rows, "qo_indptr"},
      {"mla1:2q2s99;dtype=fp8/fp8;heads=128;block=16;page=16", Route::persistent_rows, "trim"},
  };
  for (const Expect& e : expect) {
    INFO(e.line);
    const auto shape = resolve(e.line);
    REQUIRE(shape.ok());
    CHECK(shape->route == e.route);
    INFO(shape->route_reason);
    CHECK(shape->route_reason.find(e.reason) != std::string::npos);
    CHECK_FALSE(shape->kernel.label.empty());
  }
}

TEST_CASE("rows: several uniform rows are raised to a listed query length", "[shape][P12]") {
  const auto leading = [](const std::string& line) {
    const auto shape = resolve(line);
    REQUIRE(shape.ok());
    CHECK(shape->max_qo_len - shape->leading_rows <= 4);
    return shape->leading_rows;
  };
  CHECK(leading("mla1:3q2s9;qpad=4") == 2);
  CHECK(leading("mla1:3q3s9;qpad=4") == 1);
  CHECK(leading("mla1:3q3s9") == 0);
  CHECK(leading("mla1:3q4s9;qpad=4") == 0);
  CHECK(leading("mla1:3q1s9;qpad=4") == 0);
  CHECK(leading("mla1:1q2s9_1q3s9;qpad=4") == 0);  // ragged
  CHECK(leading("mla1:2q2s9;qpad=4;pad=1") == 2);  // padding requests have two rows as well
  CHECK(leading("mla1:2q3s9;qpad=4;planner=none") == 1);
  CHECK(leading("mla1:2q2s9;qpad=8") == 0);  // gfx942 has no bf16 kernel for 8 rows
  // One row of 128 heads is a tile, and a request may have fewer keys than raised rows.
  const auto tiled = resolve("mla1:2q2s9;qpad=4;heads=128;dtype=fp8/fp8");
  REQUIRE(tiled.ok());
  CHECK(tiled->leading_rows == 0);
  REQUIRE_FALSE(tiled->notes.empty());
  CHECK(tiled->notes.front() == "not raised to 4 rows, which are 4 tiles");
  // Rows of the launch and rows of the batch.
  const auto raised = resolve("mla1:3q2s9;qpad=4");
  CHECK(raised->launch_row(0) == 2);
  CHECK(raised->launch_row(1) == 3);
  CHECK(raised->launch_row(2) == 6);
}

TEST_CASE("route: a step without a plan has the splits that the case asks for", "[shape][P36]") {
  CHECK((*resolve("mla1:2q1s20;cu=2;planner=none")).kv_splits == 1);
  CHECK((*resolve("mla1:2q1s20;cu=2;planner=none;splits=16")).kv_splits == 16);
  CHECK((*resolve("mla1:2q1s9k;planner=none;splits=1")).kv_splits == 1);
  // The list of splits comes from the caller too, so that the fp8 table is not read.
  CHECK((*resolve("mla1:q5s9;planner=none;heads=128;dtype=fp8/fp8;splits=2")).kv_splits == 2);
}

TEST_CASE("route: without a plan 16 heads take any rows in bf16, and up to 4 in fp8",
          "[shape][P28]") {
  for (const std::string arch : {"gfx942", "gfx950"})
    for (int rows = 1; rows <= 33; ++rows) {
      INFO(arch << ", " << rows << " rows");
      const std::string line = say("mla1:q", rows, "s40;planner=none;arch=", arch);
      const auto bf16 = resolve(line);
      REQUIRE(bf16.ok());
      CHECK(bf16->route == Route::split);
      CHECK(bf16->kernel.label == say("a16w16 gqa16 q", rows == 1 ? 1 : rows <= 4 ? 4 : 8));
      CHECK(resolve(line + ";dtype=fp8/fp8").ok() == (rows <= 4));
    }
}

TEST_CASE("route: without a plan the merge writes the final LSE, where there is a merge",
          "[shape][P28]") {
  CHECK((*resolve("mla1:2q1s20;planner=none;splits=2;dtype=fp8/fp8;lse=1")).final_lse);
  CHECK((*resolve("mla1:2q4s20;planner=none;splits=3;lse=1")).final_lse);
  CHECK((*resolve("mla1:2q1s20;planner=none;splits=1;lse=1")).final_lse);  // one split is merged
  CHECK((*resolve("mla1:40q1s300;arch=gfx950;lse=1")).route == Route::split);
}

TEST_CASE("route: what no kernel takes is refused with the reason", "[shape][P28]") {
  const std::pair<const char*, const char*> refused[] = {
      {"mla1:q1s9;dtype=fp8/bf16", "fp8/bf16"},
      {"mla1:q1s9;block=24;page=16", "24"},
      {"mla1:q0s9", "query row"},
      {"mla1:q1s9;lse=1", "final LSE"},
      {"mla1:q1s99;planner=none;lse=1;splits=1;dtype=fp8/fp8", "with one split"},
      {"mla1:q4s99;planner=none;lse=1;splits=1", "with one split"},
      {"mla1:q1s9;splits=2", "splits=2: planner auto makes a plan"},
      {"mla1:q5s9;planner=none;dtype=fp8/fp8", "5 query rows"},
      {"mla1:q4s9;planner=none;heads=64", "64 heads"},
      {"mla1:q2s9;planner=none;heads=128;causal=0", "masks"},
      {"mla1:q3s9;planner=none;heads=128;dtype=fp8/fp8;cu=1", ""},
      {"mla1:q1s9;planner=v10;heads=32", "16 heads only"},
      {"mla1:q1s9;planner=v11;heads=128", "folds 128 heads"},
      {"mla1:q1s99;planner=v11;block=16;page=16", "page size 16"},
  };
  for (const auto& [line, why] : refused) {
    INFO(line);
    const auto shape = resolve(line);
    if (std::string(why).empty()) {  // 128 heads x 3 rows = 384 has an entry in the split table
      CHECK(shape.ok());
      continue;
    }
    REQUIRE_FALSE(shape.ok());
    INFO(shape.error().message);
    CHECK(shape.error().message.find(why) != std::string::npos);
  }
  CHECK(resolve("mla1:q5s9;planner=none;heads=128;dtype=fp8/fp8").error().bug == "BUG-078");
}

TEST_CASE("plan shape: numbers of heads that are none are refused", "[shape][P28]") {
  const auto refusal = [](std::int64_t kv_heads, std::int64_t heads) {
    const auto shape = resolve_plan_shape({Arch::gfx942,
                                           ComputeUnits(4),
                                           Heads(heads),
                                           Heads(kv_heads),
                                           {Dtype::bf16, Dtype::bf16},
                                           1,
                                           false});
    return shape ? std::string() : shape.error().message;
  };
  CHECK(refusal(1, 16).empty());
  CHECK_FALSE(refusal(1, 0).empty());
  CHECK_FALSE(refusal(0, 16).empty());
  CHECK_FALSE(refusal(-1, -16).empty());
}

TEST_CASE("plan shape: a query of unknown length is split", "[shape]") {
  PlanKey key{Arch::gfx942, ComputeUnits(4), Heads(16), Heads(1), {Dtype::bf16, Dtype::bf16}, 8,
              false};
  for (const auto& [rows, split] : {std::pair(8, false), {9, true}, {0, true}, {-1, true}}) {
    key.max_qo_len = rows;
    CHECK((*resolve_plan_shape(key)).query_split == split);
  }
}

TEST_CASE("kernels: four builds for gfx950 take a rank's keys, folded ones too", "[shape]") {
  std::set<std::string_view> takers;
  for (const KernelEntry& k : persistent_kernels()) {
    if (!takes_ranks(k)) continue;
    INFO(k.label);
    CHECK(k.arch == Arch::gfx950);
    takers.insert(k.label.substr(0, k.label.find(" folded")));
  }
  CHECK(takers == std::set<std::string_view>{"a16w16 qh32_qseqlen4", "a16w16 qh64_qseqlen1_v3",
                                             "a8w8 qh16_qseqlen4_v3", "a8w8 qh32_qseqlen4"});
}

TEST_CASE("kernels: every entry is found by its own key, and its heads are planned alike",
          "[shape][P07][P28]") {
  for (const KernelEntry& k : persistent_kernels()) {
    INFO(k.label << " " << name(k.arch) << " " << k.heads << " heads, " << k.min_qo_len << " rows");
    const auto found = find_persistent_kernel(k.arch, k.dtype, k.heads, k.min_qo_len);
    REQUIRE(found.has_value());
    CHECK(found->label == k.label);
    const auto plan = resolve_plan_shape({k.arch, product_compute_units(k.arch), Heads(k.heads),
                                          Heads(1), k.dtype, k.min_qo_len, false});
    REQUIRE(plan.ok());
    const bool folded = k.label.find("folded") != std::string_view::npos;
    CHECK(folded == (plan->fold_ratio > 1));
  }
}
