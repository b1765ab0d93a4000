// Claims about head counts and folded batches that planners have to refuse, or to plan right: no
// step of this project asks for them, and a caller of AITER may. Heads are those of the kernel.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "tests/catch.hpp"

namespace {

using namespace mla;
using plan::PlannerVersion;

constexpr DtypePair kBf16{Dtype::bf16, Dtype::bf16};
constexpr DtypePair kMixed{Dtype::bf16, Dtype::fp8};
constexpr DtypePair kFp8{Dtype::fp8, Dtype::fp8};

// Requests of equal length.
struct HeadQuestion {
  PlanKey key;
  std::int64_t requests = 1;
  std::int64_t keys = 500;
  PlannerVersion version = PlannerVersion::v1_2;
  plan::Fidelity fidelity = plan::Fidelity::safe;
  bool ragged = false;  // the planner is not told that they have equal rows
};

PlanKey head_key(Arch arch, DtypePair dtype, std::int64_t heads, std::int64_t rows) {
  return {.arch = arch,
          .compute_units = product_compute_units(arch),
          .heads_per_kv_head = Heads(heads),
          .dtype = dtype,
          .max_qo_len = rows};
}

std::string head_text(const HeadQuestion& q) {
  return say(q.key.heads_per_kv_head.count(), " heads of ", q.key.kv_heads.count(), " KV heads, ",
             q.requests, " requests of ", q.key.max_qo_len, " rows, ", name(q.key.dtype.q), "/",
             name(q.key.dtype.kv), " on ", name(q.key.arch));
}

// The lists of a question.
struct HeadLists {
  std::vector<std::int32_t> qo{0};
  std::vector<std::int32_t> kv{0};
  std::vector<std::int32_t> last;
  explicit HeadLists(const HeadQuestion& q) {
    for (std::int64_t r = 1; r <= q.requests; ++r) {
      qo.push_back(static_cast<std::int32_t>(r * q.key.max_qo_len));
      kv.push_back(static_cast<std::int32_t>(r * q.keys));
      last.push_back(1);
    }
  }
};

// With room for whatever a planner makes of it.
Result<plan::Plan> ask_heads(const HeadQuestion& q, const HeadLists& lists) {
  const auto sizes = plan::query_sizes({.arch = q.key.arch,
                                        .compute_units = q.key.compute_units,
                                        .batch = Requests(q.requests),
                                        .max_qo_len = q.key.max_qo_len,
                                        .heads = Heads(128),
                                        .dtype = kBf16,
                                        .fast_mode = q.version == PlannerVersion::v1_2});
  if (!sizes) return sizes.error();
  return plan::make_plan({.key = q.key,
                          .qo_indptr = lists.qo,
                          .kv_indptr = lists.kv,
                          .last_page_len = lists.last,
                          .uniform_qo_len = q.ragged ? -1 : q.key.max_qo_len,
                          .max_split_per_batch = q.version == PlannerVersion::v1_0 ? 16 : -1,
                          .version = q.version,
                          .fidelity = q.fidelity},
                         *sizes);
}

Result<plan::Plan> ask_heads(const HeadQuestion& q) {
  return ask_heads(q, HeadLists(q));
}

// Whether v1.2 has an entry for 8 heads: where a kernel for them is listed, and for every number of
// bf16 rows on gfx950.
bool takes_8_heads(Arch arch, DtypePair dtype, std::int64_t rows) {
  if (dtype == kBf16) return arch == Arch::gfx950 || rows == 2;
  return dtype == kFp8 && arch == Arch::gfx950 && rows == 4;
}

// Unless it is refused, the plan of a question is valid.
std::optional<std::string> broken_heads(const HeadQuestion& q) {
  const HeadLists lists(q);
  auto made = ask_heads(q, lists);
  if (!made) return std::nullopt;
  const plan::Plan plan = without_empty_works(std::move(*made));
  const auto shape = resolve_plan_shape(q.key);
  if (!shape) return head_text(q) + " are planned without a shape";
  const auto violations = plan::plan_check({.plan = plan.view(),
                                            .qo_indptr = lists.qo,
                                            .kv_indptr = lists.kv,
                                            .last_page_len = lists.last,
                                            .shape = *shape,
                                            .causal = true,
                                            .kernel_masks = true,
                                            .max_qo_len = q.key.max_qo_len});
  if (violations.empty()) return std::nullopt;
  return say(head_text(q), " get a plan that breaks the rule ", name(violations[0].rule), ": ",
             violations[0].what);
}

struct HeadCount {
  std::int64_t heads;
  std::int64_t kv_heads;
};

}  // namespace

TEST_CASE("planners: head counts that no kernel takes are refused, 16 heads are planned",
          "[plan][P40]") {
  // What folds is a multiple of 16, and v1.0 and v1.1 fold below 128 heads only.
  const std::vector<HeadCount> for_none = {{0, 1}, {16, 0}, {20, 1}, {24, 1}, {12, 2}};
  for (const auto version : {PlannerVersion::v1_0, PlannerVersion::v1_1, PlannerVersion::v1_2}) {
    const HeadQuestion plain{.key = head_key(Arch::gfx942, kBf16, 16, 1), .version = version};
    CHECK(ask_heads(plain).ok());
    std::vector<HeadCount> counts = for_none;
    if (version != PlannerVersion::v1_2) counts.push_back({144, 1});
    for (const auto& [heads, kv_heads] : counts) {
      HeadQuestion q = plain;
      q.key.heads_per_kv_head = Heads(heads);
      q.key.kv_heads = Heads(kv_heads);
      INFO(head_text(q));
      CHECK_FALSE(ask_heads(q).ok());
    }
  }
}

TEST_CASE("planner v1.2: 8 heads are planned where a kernel takes them, and nowhere else",
          "[plan][P40]") {
  const auto check = [](const PlanKey& key) {
    const HeadQuestion q{.key = key};
    INFO(head_text(q));
    CHECK(ask_heads(q).ok() == takes_8_heads(key.arch, key.dtype, key.max_qo_len));
  };
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    for (const DtypePair dtype : {kBf16, kMixed, kFp8})
      for (std::int64_t rows = 1; rows <= 5; ++rows) check(head_key(arch, dtype, 8, rows));
    // The experimental kernels pack 128 rows as well, of 16 and more heads.
    PlanKey experimental = head_key(arch, kFp8, 8, 16);
    experimental.experimental = true;
    check(experimental);
  }
}

TEST_CASE("planner v1.2: folded heads of ragged requests are refused in both fidelities",
          "[plan][P40]") {
  // Two entries are read of a list of two, then up to eight more than it has.
  for (std::int64_t heads = 32; heads <= 128; heads += 16)
    for (std::int64_t requests = 1; requests <= 4; ++requests)
      for (std::int64_t rows = 1; rows <= 4; ++rows) {
        HeadQuestion q{.key = head_key(Arch::gfx942, kBf16, heads, rows), .requests = requests};
        INFO(head_text(q));
        CHECK(ask_heads(q).ok());
        q.ragged = true;
        for (const auto fidelity : {plan::Fidelity::safe, plan::Fidelity::as_aiter}) {
          q.fidelity = fidelity;
          CHECK_FALSE(ask_heads(q).ok());
        }
      }
}

TEST_CASE("planner v1.2: folded heads in several tiles get a valid plan, or none", "[plan][P40]") {
  for (const std::int64_t heads : {96, 112, 128})
    for (std::int64_t rows = 9; rows <= 17; ++rows)
      CHECK(broken_heads({.key = head_key(Arch::gfx942, kBf16, heads, rows), .keys = 100}) ==
            std::nullopt);
}
