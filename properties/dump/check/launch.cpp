#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/say.hpp"
#include "properties/dump/check/launch_arguments.hpp"
#include "properties/dump/check/launch_changes.hpp"
#include "properties/dump/check/lists.hpp"
#include "properties/dump/check/steps.hpp"

namespace mla::dump {
namespace {

using Arguments = std::vector<LaunchedArgument>;

std::string joined(const std::vector<std::string>& sentences) {
  std::string out;
  for (const std::string& sentence : sentences) out += (out.empty() ? "" : "; ") + sentence;
  return out;
}

// "planned for 16 heads, the kernel gets 128", and what changed after the planner.
std::string differences(const Arguments& arguments, const LaunchChanges& changes) {
  std::vector<std::string> out;
  for (const LaunchedArgument& a : arguments)
    out.push_back(say("planned for ", a.planned, ", ", a.gets));
  if (changes.count > 0) {
    std::vector<std::string> words = changes.first;
    if (const auto more = changes.count - std::ssize(words); more > 0)
      words.push_back(say("and ", more, " more"));
    out.push_back("changed between planner and kernel: " + joined(words));
  }
  return out.empty() ? "the page ids, as the kernel found them:" : joined(out);
}

// The planned step with a planner that was told these arguments, judged without a launch. Of heads
// or dtypes that no planner takes there is no plan, and no kernel either.
Result<Answer> check_told(Planning planned, const Arguments& arguments) {
  planned.call = told(std::move(planned.call), arguments);
  planned.schedule.reset();  // it knows nothing of what a planner is told
  auto found = check_planned(planned, nullptr);
  if (found || found.error().code != ErrorCode::unsupported) return found;
  Answer answer;
  answer.findings.push_back({kKernelRule, found.error().message});
  return answer;
}

// The arguments that make the plan wrong: each that does alone, or all of them together.
std::string wrong_plan(const Planning& planned, const Arguments& arguments) {
  std::vector<std::string> alone;
  std::vector<std::string> all;
  for (const LaunchedArgument& a : arguments) {
    all.push_back(say(a.planned, ", ", a.gets));
    const auto found = check_told(planned, {a});
    if (!found || !found->findings.empty()) alone.push_back(all.back());
  }
  return "it is the plan of " + joined(alone.empty() ? all : alone);
}

constexpr const char* kAfter =
    "the plan was valid when the planner returned, and not what the kernel found";

// What is wrong whatever the plan is.
void check_impossible(const Planning& planned, const Launch& launch, const LaunchChanges& changes,
                      Answer& answer) {
  const bool valid_as_planned = answer.findings.empty();
  const auto add = [&](const std::string& what, Culprit culprit, const char* sentence) {
    if (what.empty()) return;
    answer.findings.push_back({kLaunchRule, what});
    if (valid_as_planned) accuse(answer, culprit, sentence);
  };
  add(impossible_rows(launch), Culprit::builder, "it launches a kernel for no rows");
  add(missing_build(planned, launch), Culprit::builder, "it launches what no kernel was built for");
  for (const std::string& what : changes.violations) add(what, Culprit::after, kAfter);
}

// Of page ids that only the launch has.
void note_lists(const Planning& launched, Answer& answer) {
  const auto lists = check_lists(launched.call, launched.cache);
  if (lists) answer.notes.insert(answer.notes.end(), lists->notes.begin(), lists->notes.end());
}

}  // namespace

void check_unplanned_launch(const Planning& planned, const Launch& launch, Answer& answer) {
  const PlannerCall& call = planned.call;
  const LaunchChanges changes = launch_changes(planned, launch);
  Arguments arguments = launched_arguments(call, launch);
  // No planner was told of splits or ranks.
  std::erase_if(arguments, [](const LaunchedArgument& one) { return one.untold; });
  std::vector<std::string> wrong = changes.violations;
  if (const std::string none = impossible_rows(launch); !none.empty()) wrong.push_back(none);
  const std::int64_t longest = longest_request(call.input.qo_indptr);
  const std::int64_t rows = launch.max_qo_len.value_or(call.sizes().max_qo_len);
  if (wrong.empty() && rows < longest)
    wrong.push_back(say("max_seqlen_q is ", rows, " at the launch, and a request has ", longest,
                        " rows: nothing writes the others"));
  if (wrong.empty() && (changes.count > 0 || !arguments.empty()))
    wrong.push_back(differences(arguments, changes));
  if (wrong.empty()) return;
  for (const std::string& what : wrong) answer.findings.push_back({kLaunchRule, what});
  answer.not_checked.clear();
  if (answer.culprit.empty())
    accuse(answer, Culprit::builder, "what it launches is not what the lists say");
}

MaybeError check_launch(const Planning& planned, const Launch& launch, Answer& answer) {
  const bool valid_as_planned = answer.findings.empty();
  const LaunchChanges changes = launch_changes(planned, launch);
  Arguments arguments = launched_arguments(planned.call, launch);
  if (const auto mask = implied_mask(planned.call, launch)) arguments.push_back(*mask);
  answer.notes.insert(answer.notes.end(), changes.notes.begin(), changes.notes.end());
  check_impossible(planned, launch, changes, answer);
  if (valid_as_planned != answer.findings.empty()) return std::nullopt;

  const std::string what = differences(arguments, changes);
  const bool silent =
      changes.count == 0 && std::ranges::all_of(arguments, &LaunchedArgument::untold);
  if (!valid_as_planned) {
    if (!silent) answer.notes.push_back(what);
    return std::nullopt;
  }
  // Page ids may be known of the launch alone.
  const bool changed = changes.count > 0 || (launch.kv_indices && !planned.cache.kv_indices);
  if (arguments.empty() && !changed) return std::nullopt;
  const auto with_arguments = check_told(planned, arguments);
  if (!with_arguments) return with_arguments.error();
  const auto as_found =
      changed ? check_told(as_launched(planned, launch), arguments) : with_arguments;
  if (!as_found) return as_found.error();
  if (as_found->findings.empty() && as_found->not_checked.empty()) {
    if (!planned.cache.kv_indices) note_lists(as_launched(planned, launch), answer);
    if (!silent) answer.notes.push_back(what + "; what the kernel found is valid as well");
    return std::nullopt;
  }
  answer.findings.push_back({kLaunchRule, what});
  answer.findings.insert(answer.findings.end(), as_found->findings.begin(),
                         as_found->findings.end());
  answer.where = as_found->where;
  if (with_arguments->culprit == name(Culprit::planner))
    accuse(answer, Culprit::planner,
           "the original planner gives these buffers for what the kernel gets as well, and they "
           "are not a valid plan");
  else if (!with_arguments->findings.empty())
    accuse(answer, Culprit::builder, wrong_plan(planned, arguments));
  else if (changes.count > 0)
    accuse(answer, Culprit::after, kAfter);
  else
    std::tie(answer.culprit, answer.diagnosis) = std::tie(as_found->culprit, as_found->diagnosis);
  return std::nullopt;
}

}  // namespace mla::dump
