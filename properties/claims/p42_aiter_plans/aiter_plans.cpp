// P42: the planner of the case, size queries and the split count answer AITER's calls as AITER's
// own code does.
//
// The other properties ask whether a plan is right. Many plans are; this one asks whether it is the
// plan that a user's kernel gets. The calls are recorded ones (answers.hpp) of the planner that the
// case names, on its architecture; which of them a case asks for depends on its seed. That all
// recorded calls are answered so is tested by tests/core/plan/golden_test.cpp.
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/p42_aiter_plans/answers.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

using Sentence = std::optional<std::string>;

constexpr int kCallsOfACase = 8;
constexpr int kRowsOfACase = 16;  // of each table of sizes and splits

Sentence difference(const Functions& functions, const AiterCall& aiter) {
  const auto sizes = functions.query_sizes(aiter.query);
  if (!sizes) return "its buffers are refused: " + sizes.error().message;
  const auto made = functions.make_plan(aiter.input(), *sizes);
  if (!made) return "it is refused: " + made.error().message;
  if (const auto list = other_list(aiter.sums, *made)) return say(*list, " is not AITER's");
  return std::nullopt;
}

Sentence difference(const Functions& functions, const AiterPrefillCall& aiter) {
  const auto sizes = functions.query_ps_sizes(aiter.query);
  if (!sizes) return "its buffers are refused: " + sizes.error().message;
  const auto made = functions.plan_ps_prefill(aiter.input(), *sizes);
  if (!made) return "it is refused: " + made.error().message;
  if (const auto list = other_list(aiter.sums, *made)) return say(*list, " is not AITER's");
  return std::nullopt;
}

// Some rows of a table: what `ask` answers is what AITER answers.
template <class Rows, class Ask>
Sentence other_row(Random& random, const Rows& rows, Ask ask, const char* table) {
  for (int round = 0; round < kRowsOfACase; ++round) {
    const std::int64_t at = random.below(std::ssize(rows));
    const auto& row = rows[static_cast<std::size_t>(at)];
    const auto answer = ask(row.query);
    const std::string what = say("row ", at, " of the ", table, " in fixtures/golden/answers.txt");
    if (!answer) return say(what, " is refused: ", answer.error().message);
    if (*answer != row.answer) return say(what, " has another answer");
  }
  return std::nullopt;
}

plan::PlannerVersion version_named_by(PlannerChoice planner) {
  if (planner == PlannerChoice::v10) return plan::PlannerVersion::v1_0;
  return planner == PlannerChoice::v11 ? plan::PlannerVersion::v1_1 : plan::PlannerVersion::v1_2;
}

// Recorded calls of the planner that the case names, on its architecture.
std::vector<const AiterCall*> calls_for(const Case& c) {
  std::vector<const AiterCall*> out;
  for (const AiterCall& call : aiter_answers().calls)
    if (call.scalars.key.arch == c.arch && call.scalars.version == version_named_by(c.planner))
      out.push_back(&call);
  return out;
}

Outcome decode_aiter_plans(Subject& subject) {
  const Functions functions = functions_of(subject);
  const AiterAnswers& answers = aiter_answers();
  const std::vector<const AiterCall*> calls = calls_for(subject.spec());
  Random random(subject.spec(), "P42");
  for (int round = 0; round < kCallsOfACase; ++round) {
    const AiterCall& aiter = *random.pick(calls);
    if (const auto why = difference(functions, aiter))
      return failed(say("call ", aiter.name, " of fixtures/golden/random.json: ", *why));
  }
  if (const auto why = other_row(random, answers.sizes, functions.query_sizes, "sizes"))
    return failed(*why);
  if (const auto why = other_row(random, answers.splits, functions.split_count, "splits"))
    return failed(*why);
  return passed();
}

Outcome prefill_aiter_plans(Subject& subject) {
  const Functions functions = functions_of(subject);
  const AiterAnswers& answers = aiter_answers();
  Random random(subject.spec(), "P42");
  const AiterPrefillCall& aiter = random.pick(answers.prefills);
  if (const auto why = difference(functions, aiter))
    return failed(say("call ", aiter.name, " of fixtures/golden/ps_prefill.json: ", *why));
  if (const auto why =
          other_row(random, answers.prefill_sizes, functions.query_ps_sizes, "prefill sizes"))
    return failed(*why);
  return passed();
}

}  // namespace

constexpr Property kP42{
    "P42", "aiter_plans",
    "The planner of the case, size queries and the split count answer AITER's calls as AITER does.",
    by_kind<decode_aiter_plans, prefill_aiter_plans, nullptr>};

}  // namespace mla::prop
