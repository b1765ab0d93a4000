#include "properties/dump/check/notes.hpp"

#include <algorithm>
#include <utility>

#include "core/plan/tile_straddle.hpp"
#include "core/say.hpp"
#include "core/shape/folded_rows.hpp"
#include "properties/dump/check/launch_arguments.hpp"

namespace mla::dump {
namespace {

// Folded heads whose rows the kernel looks up past the end of the list. What lies there decides,
// and steps of vLLM were right.
std::string misreads(const PlannerCall& call, std::int64_t fold_ratio) {
  const auto kernel = kernel_of(call);
  const std::string what =
      kernel ? misread_rows(*kernel, fold_ratio, call.sizes().max_qo_len) : std::string();
  return what.empty() ? what : what + ", for most requests past the end of the list";
}

// Where the planner is told of no mask: SGLang plans so for causal models. A kernel that masks all
// the same is right for these only, one that relies on a causal plan never masks. Empty elsewhere.
std::string planned_unmasked(const PlannerCall& call) {
  const std::int64_t rows = call.sizes().max_qo_len;
  const auto kernel = kernel_of(call);
  if (call.input.causal || rows <= 1 || !kernel || kernel->non_causal) return {};
  return say("is_causal is false with up to ", rows, " rows a request, and ", kernel->label,
             kernel->masks
                 ? " masks several rows causally all the same: right for a causal model only"
                 : " masks only what a causal plan leaves out: right for no causal model");
}

// A plan of a step that computes nothing, which every planner gets right.
std::string without_rows(const PlannerCall& call) {
  if (!call.input.qo_indptr.empty() && call.input.qo_indptr.back() > 0) return {};
  return "no request has a row: nothing is judged but that the plan has no work";
}

// What the launch alone would tell of a mask.
std::string untold_mask(const PlannerCall& call) {
  if (call.causal_given) return {};
  return "is_causal is not given: judged as a causal step";
}

// Pieces of which some row sees no key, where the planner is told of no mask and the kernel masks.
std::string hidden_pieces(const PlannerCall& call, plan::PlanCheckInput input) {
  const auto kernel = kernel_of(call);
  if (call.input.causal || !kernel || kernel->non_causal || !kernel->masks) return {};
  input.causal = true;
  std::int64_t count = 0;
  std::string first;
  for (const plan::Violation& v : plan::plan_check(input))
    if (v.rule == plan::Rule::hidden_rows && count++ == 0) first = v.what;
  if (count == 0) return {};
  return first + (count > 1 ? say(", and ", count - 1, " works more") : std::string());
}

// A piece of a rank of which some row may see no key, where the document does not say how many keys
// all ranks have: with as few as there can be on as few ranks as there can be. Or it does not say
// whether there is a mask: planners are told of none for a rank, whose keys they must not trim.
std::string may_hide_keys(const PlannerCall& call, const Launch* launch,
                          plan::PlanCheckInput input) {
  const bool masked = input.causal || launch == nullptr || launch->causal.value_or(true);
  const bool told = input.causal || (launch != nullptr && launch->causal);
  if (!input.cp_round_robin || !masked) return {};
  input.causal = true;
  const auto hidden = [&input] {
    const auto found = plan::plan_check(input);
    return std::ranges::find(found, plan::Rule::hidden_rows, &plan::Violation::rule) != found.end();
  };
  const bool counted = !input.dealt.global_kv_indptr.empty();
  if (told && (counted || hidden())) return {};  // a violation whatever they have, or none
  if (input.dealt.ranks == 0) input.dealt = {.ranks = 2, .rank = 0, .global_kv_indptr = {}};
  const std::vector<std::int32_t> fewest =
      plan::fewest_global_kv(call.input.kv_indptr, input.dealt.ranks, input.dealt.rank);
  if (!counted) input.dealt.global_kv_indptr = fewest;
  if (!hidden()) return {};
  return say(
      "a row may see no key of a piece, which AITER's kernels for ranks get wrong (BUG-012): "
      "that depends on the ",
      counted ? ""
              : "keys of all ranks, which the launch's cp_world_size, cp_rank and "
                "g_kv_indptr would tell",
      counted || told ? "" : ", and on its ", told ? "" : "mask (launch_causal)");
}

// The launch decides, whatever the planner was told.
std::string goes_unused(const Planning& planned, const Launch* launch) {
  if (!runs_unplanned(planned, launch)) return {};
  return "AITER does not use this plan: its wrapper runs the step without one "
         "(AITER_MLA_DECODE_PERSISTENT_MAX_BATCH)";
}

std::string takes_pages_for_tokens(const PlannerCall& call) {
  if (call.input.page_size == 1) return {};
  return say("AITER's decode kernels of August 2026 ignore the page size of ", call.input.page_size,
             ": they take the id of a page for that of a token (BUG-059)");
}

// Shapes that a kernel gets wrong whatever the plan is.
std::string known_wrong(const PlannerCall& call, const Scale& kv_scale) {
  const auto kernel = kernel_of(call);
  if (!kernel || call.input.key.heads_per_kv_head.count() != kernel->heads) return {};
  const std::int64_t rows = call.sizes().max_qo_len;
  const bool fp8 = kernel->dtype.both(Dtype::fp8);
  if (kernel->arch == Arch::gfx950 && kernel->dtype.both(Dtype::bf16) && kernel->heads == 8 &&
      call.input.causal)
    return say(kernel->label, " gives each of the ", rows,
               " rows the causal limit of the fourth (AITER-18)");
  if (kernel->heads != 16 || !fp8) return {};
  for (std::size_t r = 0; rows == 2 && r + 1 < call.input.qo_indptr.size(); ++r)
    if (call.input.qo_indptr[r + 1] - call.input.qo_indptr[r] == 1)
      return say(kernel->label, " computes and writes request ", r,
                 ", which has one row, as one of two (AITER-16)");
  if (kernel->arch == Arch::gfx942 && (rows == 3 || rows == 4) && kv_scale.value != 1)
    return say(kernel->label, " does not apply kv_scale to the values (AITER-01)");
  return {};
}

}  // namespace

std::optional<KernelEntry> kernel_of(const PlannerCall& call) {
  const PlanKey& key = call.input.key;
  return find_persistent_kernel(key.arch, key.dtype, key.heads_per_kv_head.count(),
                                call.sizes().max_qo_len);
}

std::vector<std::string> plan_notes(const Planning& planned, const Launch* launch,
                                    const plan::PlanCheckInput& input) {
  const PlannerCall& call = planned.call;
  std::vector<std::string> notes = {without_rows(call),
                                    untold_mask(call),
                                    planned_unmasked(call),
                                    hidden_pieces(call, input),
                                    may_hide_keys(call, launch, input),
                                    misreads(call, input.shape.fold_ratio),
                                    goes_unused(planned, launch),
                                    takes_pages_for_tokens(call),
                                    known_wrong(call, planned.kv_scale)};
  std::erase(notes, std::string());
  return notes;
}

namespace {

// The first of some works, and how many there are.
using Works = std::pair<std::int64_t, std::int64_t>;

// Works of at least `least` keys.
Works works_of(const plan::PlanCheckInput& input, std::int64_t least) {
  Works found{-1, 0};
  for (std::int64_t w = 0; w < input.plan.work_indptr.back(); ++w)
    if (plan::work_keys(input, input.plan.work(w)) >= least && found.second++ == 0) found.first = w;
  return found;
}

std::string arrives_in_time(const PlannerCall& call, const plan::PlanCheckInput& input) {
  constexpr std::int64_t kLoop = 192;  // keys, from which on the kernel's main loop runs
  const auto kernel = kernel_of(call);
  if (!kernel || !kernel->label.starts_with("a8w8 qh16_qseqlen4_v3")) return {};
  const auto [first, count] = works_of(input, kLoop);
  if (count == 0) return {};
  const std::string more =
      count > 1 ? say(", and there ", count == 2 ? "is " : "are ", count - 1, " more") : "";
  return say(kernel->label, " is right for works of ", kLoop,
             " keys and more only while loads arrive neither too early nor too late: work ", first,
             " has ", plan::work_keys(input, input.plan.work(first)), more,
             ": AITER-10 (docs/findings/aiter.md)");
}

std::string straddles(const PlannerCall& call, const plan::PlanCheckInput& input) {
  const auto kernel = kernel_of(call);
  if (!kernel || kernel->label != "a16w16 qh64_qseqlen1_v3") return {};
  const std::vector<plan::StraddledWork> works = straddled_works(input);
  if (works.empty()) return {};
  const auto& [index, work, seen] = works.front();
  const std::string more =
      works.size() > 1 ? say(", and for ", works.size() - 1, " more") : std::string();
  return say(kernel->label, " is wrong for work ", index, " (request ", work.batch, ", rows ",
             work.q_begin, "..", work.q_end, ", of its ", seen.keys, " keys the first row sees ",
             seen.first, " and the last ", seen.last, ")", more,
             ": AITER-27 (docs/findings/aiter.md)");
}

}  // namespace

std::vector<std::string> work_notes(const PlannerCall& call, const plan::PlanCheckInput& input) {
  std::vector<std::string> notes = {straddles(call, input), arrives_in_time(call, input)};
  std::erase(notes, std::string());
  return notes;
}

}  // namespace mla::dump
