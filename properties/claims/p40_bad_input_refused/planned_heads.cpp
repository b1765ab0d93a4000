#include "properties/claims/p40_bad_input_refused/planned_heads.hpp"

#include <utility>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/plan/plan_check.hpp"
#include "core/say.hpp"

namespace mla::prop {
namespace {

using plan::PlannerVersion;
using Sentence = std::optional<std::string>;

constexpr DtypePair kBf16{Dtype::bf16, Dtype::bf16};
constexpr DtypePair kMixed{Dtype::bf16, Dtype::fp8};
constexpr DtypePair kFp8{Dtype::fp8, Dtype::fp8};

// Requests of equal length.
struct Question {
  PlanKey key;
  std::int64_t requests = 1;
  std::int64_t keys = 500;
  PlannerVersion version = PlannerVersion::v1_2;
  plan::Fidelity fidelity = plan::Fidelity::safe;
  bool ragged = false;  // the planner is not told that they have equal rows
};

PlanKey key_of(Arch arch, DtypePair dtype, std::int64_t heads, std::int64_t rows) {
  return {.arch = arch,
          .compute_units = product_compute_units(arch),
          .heads_per_kv_head = Heads(heads),
          .dtype = dtype,
          .max_qo_len = rows};
}

std::string text(const Question& q) {
  return say(q.key.heads_per_kv_head.count(), " heads of ", q.key.kv_heads.count(), " KV heads, ",
             q.requests, " requests of ", q.key.max_qo_len, " rows, ", name(q.key.dtype.q), "/",
             name(q.key.dtype.kv), " on ", name(q.key.arch));
}

// The lists of a question.
struct Lists {
  std::vector<std::int32_t> qo{0};
  std::vector<std::int32_t> kv{0};
  std::vector<std::int32_t> last;
  explicit Lists(const Question& q) {
    for (std::int64_t r = 1; r <= q.requests; ++r) {
      qo.push_back(static_cast<std::int32_t>(r * q.key.max_qo_len));
      kv.push_back(static_cast<std::int32_t>(r * q.keys));
      last.push_back(1);
    }
  }
};

// With room for whatever a planner makes of it.
Result<plan::Plan> ask(const Functions& functions, const Question& q, const Lists& lists) {
  const auto sizes = functions.query_sizes({.arch = q.key.arch,
                                            .compute_units = q.key.compute_units,
                                            .batch = Requests(q.requests),
                                            .max_qo_len = q.key.max_qo_len,
                                            .heads = Heads(128),
                                            .dtype = kBf16,
                                            .fast_mode = q.version == PlannerVersion::v1_2});
  if (!sizes) return sizes.error();
  return functions.make_plan({.key = q.key,
                              .qo_indptr = lists.qo,
                              .kv_indptr = lists.kv,
                              .last_page_len = lists.last,
                              .uniform_qo_len = q.ragged ? -1 : q.key.max_qo_len,
                              .max_split_per_batch = q.version == PlannerVersion::v1_0 ? 16 : -1,
                              .version = q.version,
                              .fidelity = q.fidelity},
                             *sizes);
}

Result<plan::Plan> ask(const Functions& functions, const Question& q) {
  return ask(functions, q, Lists(q));
}

// Whether v1.2 has an entry for 8 heads: where a kernel for them is listed, and for every number of
// bf16 rows on gfx950.
bool takes_8_heads(Arch arch, DtypePair dtype, std::int64_t rows) {
  if (dtype == kBf16) return arch == Arch::gfx950 || rows == 2;
  return dtype == kFp8 && arch == Arch::gfx950 && rows == 4;
}

Sentence wrong_8_heads(const Functions& functions, const PlanKey& key) {
  const Question q{.key = key};
  const auto made = ask(functions, q);
  if (made.ok() == takes_8_heads(key.arch, key.dtype, key.max_qo_len)) return std::nullopt;
  return text(q) + (made ? " are planned, and no kernel takes them"
                         : " are refused, and a kernel takes them: " + made.error().message);
}

Sentence wrong_8_heads(const Functions& functions) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    for (const DtypePair dtype : {kBf16, kMixed, kFp8})
      for (std::int64_t rows = 1; rows <= 5; ++rows)
        if (auto why = wrong_8_heads(functions, key_of(arch, dtype, 8, rows))) return why;
    // The experimental kernels pack 128 rows as well, of 16 and more heads.
    PlanKey experimental = key_of(arch, kFp8, 8, 16);
    experimental.experimental = true;
    if (auto why = wrong_8_heads(functions, experimental)) return why;
  }
  return std::nullopt;
}

// Unless it is refused, the plan of a question is valid.
Sentence broken(const Functions& functions, const Question& q) {
  const Lists lists(q);
  auto made = ask(functions, q, lists);
  if (!made) return std::nullopt;
  const plan::Plan plan = without_empty_works(std::move(*made));
  const auto shape = resolve_plan_shape(q.key);
  if (!shape) return text(q) + " are planned without a shape";
  const auto violations = plan::plan_check({.plan = plan.view(),
                                            .qo_indptr = lists.qo,
                                            .kv_indptr = lists.kv,
                                            .last_page_len = lists.last,
                                            .shape = *shape,
                                            .causal = true,
                                            .kernel_masks = true,
                                            .max_qo_len = q.key.max_qo_len});
  if (violations.empty()) return std::nullopt;
  return say(text(q), " get a plan that breaks the rule ", name(violations[0].rule), ": ",
             violations[0].what);
}

}  // namespace

Sentence wrong_heads_planned(const Functions& functions) {
  struct HeadCount {
    std::int64_t heads;
    std::int64_t kv_heads;
  };
  // What folds is a multiple of 16, and v1.0 and v1.1 fold below 128 heads only.
  const std::vector<HeadCount> for_none = {{0, 1}, {16, 0}, {20, 1}, {24, 1}, {12, 2}};
  for (const auto version : {PlannerVersion::v1_0, PlannerVersion::v1_1, PlannerVersion::v1_2}) {
    const Question plain{.key = key_of(Arch::gfx942, kBf16, 16, 1), .version = version};
    if (const auto made = ask(functions, plain); !made)
      return text(plain) + " are refused: " + made.error().message;
    std::vector<HeadCount> counts = for_none;
    if (version != PlannerVersion::v1_2) counts.push_back({144, 1});
    for (const auto& [heads, kv_heads] : counts) {
      Question q = plain;
      q.key.heads_per_kv_head = Heads(heads);
      q.key.kv_heads = Heads(kv_heads);
      if (ask(functions, q)) return text(q) + " are planned, and no kernel takes them";
    }
  }
  return wrong_8_heads(functions);
}

Sentence ragged_folded_planned(const Functions& functions, Random& random) {
  // Two entries are read of a list of two, then up to eight more than it has.
  for (const auto& [heads, requests] : {std::pair<std::int64_t, std::int64_t>{32, 1},
                                        {16 * random.between(2, 8), random.between(1, 4)}}) {
    Question q{.key = key_of(Arch::gfx942, kBf16, heads, random.between(1, 4)),
               .requests = requests};
    if (const auto made = ask(functions, q); !made)
      return text(q) + " are refused: " + made.error().message;
    q.ragged = true;
    for (const auto fidelity : {plan::Fidelity::safe, plan::Fidelity::as_aiter}) {
      q.fidelity = fidelity;
      if (ask(functions, q))
        return text(q) +
               " are planned as ragged, and folded heads read qo_indptr past its end for that";
    }
  }
  return std::nullopt;
}

Sentence folded_tiles_lose_keys(const Functions& functions, Random& random) {
  for (const auto& [heads, rows] : {std::pair<std::int64_t, std::int64_t>{128, 17},
                                    {96, 9},
                                    {96, random.between(9, 17)},
                                    {112, random.between(9, 17)},
                                    {128, random.between(9, 17)}})
    if (auto why =
            broken(functions, {.key = key_of(Arch::gfx942, kBf16, heads, rows), .keys = 100}))
      return why;
  return std::nullopt;
}

}  // namespace mla::prop
