// P42: planners, size queries and the split count answer AITER's calls as AITER's own code does.
//
// The other properties ask whether a plan is right. Many plans are; this one asks whether it is the
// plan that a user's kernel gets. Which calls a case asks for depends on its seed.
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/p42_aiter_plans/aiter_answers.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/dump/blame/differences.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

using Sentence = std::optional<std::string>;

constexpr int kCallsOfACase = 8;
constexpr int kRowsOfACase = 16;  // of each table of sizes and splits

Sentence difference(const Functions& functions, const AiterCall& aiter,
                    const plan::PlanInput& input) {
  const auto sizes = functions.query_sizes(aiter.call.sizes());
  if (!sizes) return "its buffers are refused: " + sizes.error().message;
  const auto made = functions.make_plan(input, *sizes);
  if (!made) return "it is refused: " + made.error().message;
  if (const auto list = other_list(aiter, *made)) return say(*list, " is not AITER's");
  return std::nullopt;
}

Sentence difference(const Functions& functions, const AiterPrefillCall& aiter) {
  const auto made =
      functions.plan_ps_prefill(aiter.planned.call.input, aiter.planned.found.sizes());
  if (!made) return "it is refused: " + made.error().message;
  const auto words = dump::differences(*made, aiter.planned.found);
  if (words.empty()) return std::nullopt;
  return "the plan is not AITER's: " + dump::few_words(words);
}

// Where the kernels of v1.2 differ: the automatic choice is the parallel one, and one that is named
// is not exchanged.
Sentence other_kernel(const Functions& functions, const AiterKernelCall& aiter) {
  const struct {
    plan::V12Kernel kernel;
    const dump::FoundPlan& answer;
    const char* what;
  } asked[] = {{plan::V12Kernel::automatic, aiter.parallel, "automatic choice"},
               {plan::V12Kernel::parallel, aiter.parallel, "parallel kernel"},
               {plan::V12Kernel::serial, aiter.serial, "serial kernel"}};
  for (const auto& [kernel, answer, what] : asked) {
    plan::PlanInput input = aiter.call.input;
    input.kernel = kernel;
    const auto made = functions.make_plan(input, answer.sizes());
    const std::string call = say("call ", aiter.name, " of v12_h16_q1.json, ", what, ": ");
    if (!made) return call + "it is refused: " + made.error().message;
    const auto words = dump::differences(*made, answer);
    if (!words.empty()) return call + "the plan is not AITER's: " + dump::few_words(words);
  }
  return std::nullopt;
}

// fixtures/golden/sizes.json knows no experimental kernel. The two of gfx942 take 128 packed rows
// as one tile (AITER's get_mla_metadata_info_v1), where others take 16.
Sentence other_experimental_tiles(const Functions& functions) {
  const struct {
    std::int64_t heads, rows;
  } kernels[] = {{32, 4}, {64, 2}};
  for (const auto& [heads, rows] : kernels)
    for (const bool experimental : {false, true}) {
      const std::int64_t tiles = functions.query_tiles({.max_qo_len = rows,
                                                        .heads = Heads(heads),
                                                        .dtype = {Dtype::fp8, Dtype::fp8},
                                                        .experimental = experimental});
      if (tiles != (experimental ? 1 : 8))
        return say("the size query counts ", tiles, " tiles of ", rows, " rows of ", heads,
                   experimental ? " heads with an experimental kernel" : " heads");
    }
  return std::nullopt;
}

// Some rows of a table: what `ask` answers is what AITER answers.
template <class Rows, class Ask>
Sentence other_row(Random& random, const Rows& rows, Ask ask, const char* table) {
  for (int round = 0; round < kRowsOfACase; ++round) {
    const std::int64_t at = random.below(std::ssize(rows));
    const auto& row = rows[static_cast<std::size_t>(at)];
    const auto answer = ask(row.query);
    const std::string what = say("row ", at, " of ", table);
    if (!answer) return say(what, " is refused: ", answer.error().message);
    if (*answer != row.answer) return say(what, " has another answer");
  }
  return std::nullopt;
}

// Of sparse calls with uni_seqlen_qo 1, which AITER plans row by row, a safe planner takes what
// AITER gets right: as many rows in every request, said to be one each.
Sentence sparse_difference(const Functions& functions, const AiterCall& aiter) {
  plan::PlanInput safe = aiter.call.input;
  safe.fidelity = plan::Fidelity::safe;
  // The others keep no cap of splits, and a safe one says so.
  if (safe.version != plan::PlannerVersion::v1_2) safe.max_split_per_batch = -1;
  if (safe.topk < 0 || safe.uniform_qo_len != 1 || safe.kv_indptr.front() != 0 || safe.batch() == 0)
    return std::nullopt;
  if (auto why = difference(functions, aiter, safe)) return why;
  if (safe.version != plan::PlannerVersion::v1_2) return std::nullopt;
  const auto sizes = functions.query_sizes(aiter.call.sizes());
  const auto shape = resolve_plan_shape(safe.key);
  if (!sizes || !shape) return "it has no sizes or no shape";
  plan::PlanInput ragged = safe;
  ragged.uniform_qo_len = -1;
  if (safe.qo_indptr[1] - safe.qo_indptr[0] == 1 && shape->fold_ratio == 1) {
    if (auto why = difference(functions, aiter, ragged)) return "with uni_seqlen_qo -1: " + *why;
  } else if (functions.make_plan(ragged, *sizes)) {
    return "with uni_seqlen_qo -1 it is taken, and finds the rows of other requests";
  }
  plan::PlanInput two = safe;
  two.uniform_qo_len = 2;
  if (functions.make_plan(two, *sizes)) return "with uni_seqlen_qo 2 it is taken";
  std::vector<std::int32_t> longer(safe.qo_indptr.begin(), safe.qo_indptr.end());
  ++longer.back();
  plan::PlanInput unequal = safe;
  unequal.qo_indptr = longer;
  if (safe.batch() > 1 && functions.make_plan(unequal, *sizes))
    return "with a row more in the last request it is taken";
  return std::nullopt;
}

Outcome decode_aiter_plans(Subject& subject) {
  const Functions functions = functions_of(subject);
  const std::vector<AiterCall>& calls = aiter_calls();
  Random random(subject.spec(), "P42");
  for (int round = 0; round < kCallsOfACase; ++round) {
    const AiterCall& aiter = random.pick(calls);
    const std::string what = say("call ", aiter.name, " of fixtures/golden/random.json");
    if (const auto why = difference(functions, aiter, aiter.call.input))
      return failed(say(what, ": ", *why));
    if (const auto why = sparse_difference(functions, aiter))
      return failed(say(what, ", sparse and safe: ", *why));
    if (aiter.call.input.uniform_qo_len >= 0) continue;
    plan::PlanInput zero = aiter.call.input;
    zero.uniform_qo_len = 0;  // as good as -1 to AITER
    if (const auto why = difference(functions, aiter, zero))
      return failed(say(what, ", with uni_seqlen_qo 0 for -1: ", *why));
  }
  if (auto why = other_kernel(functions, random.pick(aiter_kernel_calls())))
    return failed(std::move(*why));
  if (auto why = other_experimental_tiles(functions)) return failed(std::move(*why));
  if (const auto why = other_row(random, aiter_sizes(), functions.query_sizes, "mla in sizes.json"))
    return failed(*why);
  if (const auto why = other_row(random, aiter_splits(), functions.split_count, "splits.json"))
    return failed(*why);
  return passed();
}

Outcome prefill_aiter_plans(Subject& subject) {
  const Functions functions = functions_of(subject);
  Random random(subject.spec(), "P42");
  const AiterPrefillCall& aiter = random.pick(aiter_prefill_calls());
  if (const auto why = difference(functions, aiter))
    return failed(say("call ", aiter.name, " of fixtures/golden/ps_prefill.json: ", *why));
  if (const auto why =
          other_row(random, aiter_prefill_sizes(), functions.query_ps_sizes, "ps in sizes.json"))
    return failed(*why);
  return passed();
}

}  // namespace

constexpr Property kP42{
    "P42", "aiter_plans",
    "Planners, size queries and the split count answer AITER's calls as AITER does.",
    by_kind<decode_aiter_plans, prefill_aiter_plans, nullptr>};

}  // namespace mla::prop
