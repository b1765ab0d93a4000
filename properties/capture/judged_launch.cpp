#include "properties/capture/judged_launch.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/say.hpp"
#include "properties/capture/checked_launch.hpp"
#include "properties/capture/diagnose.hpp"
#include "properties/capture/launched_call.hpp"
#include "properties/files/json_fields.hpp"

namespace mla::cli {
namespace {

using nlohmann::json;
using Arguments = std::vector<LaunchedArgument>;
using Check = std::function<Result<PlanAnswer>(const json&)>;

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

json with(json document, const Arguments& arguments) {
  for (const LaunchedArgument& a : arguments) document.update(a.keys);
  return document;
}

// Of heads or dtypes that no planner takes there is no plan, and no kernel either.
Result<PlanAnswer> judged(const json& document, const Check& check) {
  auto found = check(document);
  if (found || found.error().code != ErrorCode::unsupported) return found;
  PlanAnswer answer;
  answer.findings.push_back({kKernelRule, found.error().message});
  return answer;
}

// The arguments that make the plan wrong: each that does alone, or all of them together.
std::string wrong_plan(const json& planned, const Arguments& arguments, const Check& check) {
  const auto sentence = [](const LaunchedArgument& a) { return say(a.planned, ", ", a.gets); };
  std::vector<std::string> alone;
  std::vector<std::string> all;
  for (const LaunchedArgument& a : arguments) {
    all.push_back(sentence(a));
    const auto found = judged(with(planned, {a}), check);
    if (!found || !found->findings.empty()) alone.push_back(sentence(a));
  }
  return "it is the plan of " + joined(alone.empty() ? all : alone);
}

void blame(PlanAnswer& answer, Culprit culprit, std::string sentence) {
  answer.culprit = name(culprit);
  answer.diagnosis = std::move(sentence);
}

constexpr const char* kAfter =
    "the plan was valid when the planner returned, and not what the kernel found";

// What a document says of a launch, against its call.
struct Launch {
  PlannerCall call;
  Arguments arguments;
  LaunchChanges changes;
};

Result<Launch> read_launch(const json& object) {
  auto call = read_planner_call(object);
  if (!call) return call.error();
  auto arguments = launched_arguments(*call, object);
  if (!arguments) return arguments.error();
  auto changes = launch_changes(*call, object);
  if (!changes) return changes.error();
  return Launch{std::move(*call), std::move(*arguments), std::move(*changes)};
}

}  // namespace

Status judge_unplanned(const json& object, PlanAnswer& answer) {
  const auto launch = read_launch(object);
  if (!launch) return launch.error();
  const auto& [call, arguments, changes] = *launch;
  Arguments told = arguments;  // no planner was told of splits or ranks
  std::erase_if(told, [](const LaunchedArgument& one) { return one.untold; });
  std::vector<std::string> wrong = changes.violations;
  if (const std::string none = impossible_rows(object); !none.empty()) wrong.push_back(none);
  const std::int64_t longest = longest_request(call.qo_indptr);
  const std::int64_t rows = files::Fields(object).number_or(kLaunchRows, call.sizes.max_qo_len);
  if (wrong.empty() && rows < longest)
    wrong.push_back(say("max_seqlen_q is ", rows, " at the launch, and a request has ", longest,
                        " rows: nobody writes the others"));
  if (wrong.empty() && (changes.count > 0 || !told.empty()))
    wrong.push_back(differences(told, changes));
  if (wrong.empty()) return std::nullopt;
  for (const std::string& what : wrong) answer.findings.push_back({kLaunchRule, what});
  answer.not_checked.clear();
  if (answer.culprit.empty())
    blame(answer, Culprit::builder, "what it launches is not what the lists say");
  return std::nullopt;
}

Status judge_launch(const json& object, const Check& check, PlanAnswer& answer) {
  const auto launch = read_launch(object);
  if (!launch) return launch.error();
  const auto& [call, arguments, changes] = *launch;
  const bool sound = answer.findings.empty();
  answer.notes.insert(answer.notes.end(), changes.notes.begin(), changes.notes.end());
  if (const std::string rows = impossible_rows(object); !rows.empty()) {
    answer.findings.push_back({kLaunchRule, rows});
    if (sound) blame(answer, Culprit::builder, "it launches a kernel for no rows");
  }
  if (const std::string build = missing_build(object); !build.empty()) {
    answer.findings.push_back({kLaunchRule, build});
    if (sound) blame(answer, Culprit::builder, "it launches what no kernel was built for");
  }
  for (const std::string& what : changes.violations) {
    answer.findings.push_back({kLaunchRule, what});
    if (sound) blame(answer, Culprit::after, kAfter);
  }
  if (sound != answer.findings.empty()) return std::nullopt;

  const std::string what = differences(arguments, changes);
  const bool silent =
      changes.count == 0 && std::ranges::all_of(arguments, &LaunchedArgument::untold);
  if (!sound) {
    if (!silent) answer.notes.push_back(what);
    return std::nullopt;
  }
  // Page ids may be known of the launch alone.
  const bool moved =
      changes.count > 0 || (object.contains("launch_kv_indices") && !object.contains("kv_indices"));
  if (arguments.empty() && !moved) return std::nullopt;
  // No planner is told of the ranks, and what a row sees depends on them.
  const json planned = with_ranks(without_launch(object), object);
  const auto told = judged(with(planned, arguments), check);
  if (!told) return told.error();
  const json launched = with_ranks(as_launched(object), object);
  const auto found = moved ? judged(with(launched, arguments), check) : told;
  if (!found) return found.error();
  if (found->findings.empty() && found->not_checked.empty()) {
    if (!silent) answer.notes.push_back(what + "; what the kernel found is valid as well");
    return std::nullopt;
  }
  answer.findings.push_back({kLaunchRule, what});
  answer.findings.insert(answer.findings.end(), found->findings.begin(), found->findings.end());
  if (told->culprit == name(Culprit::planner))
    blame(answer, Culprit::planner,
          "the original planner gives these buffers for what the kernel gets as well, and they are "
          "not a valid plan");
  else if (!told->findings.empty())
    blame(answer, Culprit::builder, wrong_plan(planned, arguments, check));
  else if (changes.count > 0)
    blame(answer, Culprit::after, kAfter);
  else
    std::tie(answer.culprit, answer.diagnosis) = std::tie(found->culprit, found->diagnosis);
  return std::nullopt;
}

}  // namespace mla::cli
