#include <algorithm>
#include <cstdio>

#include "core/say.hpp"
#include "properties/app/step_time.hpp"
#include "properties/app/table_text.hpp"
#include "properties/files/printable.hpp"

namespace mla::app {
namespace {

using timing::Prediction;

std::string microseconds(double us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", us);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

std::string family(const TimedStep& step) {
  return say(name(step.load.arch), " ", name(step.load.dtype.q), "/", name(step.load.dtype.kv),
             step.load.planned ? " with a plan" : " without a plan", ", tiles of ",
             step.load.tile_rows, " rows");
}

std::string interval(const Prediction& p) {
  return say(microseconds(p.total_us()), " predicted, ", microseconds(p.low_us), " to ",
             microseconds(p.high_us),
             p.beyond.empty() ? "; fitted to published times of such shapes" : "; a guess");
}

std::string term(const char* label, double us, const char* what) {
  char line[160];
  std::snprintf(line, sizeof line, "  %-10s%9.1f us predicted  %s\n", label, us, what);
  return line;
}

std::string terms(const Prediction& p) {
  return term("stage 1", p.stage1_us, "if its work lay evenly on the slots that have some") +
         term("imbalance", p.imbalance_us, "what the slowest slot needs beyond that") +
         term("reduce", p.reduce_us, "merging the pieces") +
         term("launch", p.launch_us, "what every call costs");
}

std::string merged(std::int64_t pieces) {
  return pieces == 0 ? std::string("merges nothing") : say("merges up to ", pieces, " pieces");
}

std::string faster_text(const StepTime& time) {
  if (!time.searched) return {};
  if (!time.faster) return row("better", "no plan was found that is predicted to be faster");
  const Prediction& p = time.faster->predicted;
  return row("better", say("a plan of ", interval(p), "; ",
                           percent(1 - p.total_us() / time.step.predicted->total_us()), " less")) +
         row("", say("it ", merged(time.faster->longest_merge), "; this one ",
                     merged(time.step.load.longest_merge))) +
         terms(p);
}

const char* planner_label(PlannerChoice planner) {
  switch (planner) {
    case PlannerChoice::v10:
      return "v1.0";
    case PlannerChoice::v11:
      return "v1.1";
    default:
      return "v1.2";
  }
}

std::string planners_text(const StepTime& time) {
  std::string out;
  for (const PlannerChoiceTime& one : time.planners)
    out +=
        row(planner_label(one.planner),
            one.predicted ? interval(*one.predicted) : "refused: " + one.predicted.error().message);
  return out;
}

std::string other_text(const StepTime& time) {
  if (!time.other_route) return {};
  const char* label = time.step.load.planned ? "no plan" : "a plan";
  if (!*time.other_route) return row(label, "refused: " + time.other_route->error().message);
  const TimedStep& other = **time.other_route;
  if (other.load.planned == time.step.load.planned)
    return row(label, "the engine has none of that for this step");
  if (!other.predicted) return row(label, "not predicted: " + other.predicted.error().message);
  const double ratio = other.predicted->total_us() / time.step.predicted->total_us();
  char times[32];
  std::snprintf(times, sizeof times, ", %.2f times this", ratio);
  return row(label, interval(*other.predicted) + times);
}

std::string splits_of(std::int64_t splits, bool planned) {
  if (!planned) return say(splits, splits == 1 ? " split" : " splits");
  return splits < 0 ? "no cap" : say("cap ", splits);
}

std::string choices_text(const StepTime& time) {
  const auto best = std::ranges::min_element(time.choices, {}, &SplitChoice::predicted_us);
  if (best == time.choices.end()) return {};
  const double mine = time.step.predicted->total_us();
  const bool better = best->predicted_us < mine;
  return row("splits",
             better ? say("best of those tried: ", splits_of(best->splits, time.step.load.planned),
                          ", ", microseconds(best->predicted_us), " predicted; this choice costs ",
                          percent(mine / best->predicted_us - 1), " more, predicted")
                    : say("this choice is the best of ", time.choices.size(),
                          " that were tried, predicted"));
}

}  // namespace

std::string time_line(const TimedStep& step) {
  if (!step.predicted) return "nothing is predicted: " + step.predicted.error().message;
  const Prediction& p = *step.predicted;
  return p.beyond.empty() ? interval(p) : say(interval(p), ": ", p.beyond);
}

std::string time_text(const StepTime& time) {
  std::string out = row(time.step.spec ? "case" : "bundle", files::printable(time.step.name)) +
                    row("family", family(time.step));
  if (!time.step.predicted)
    return out + row("predicted", "nothing: " + time.step.predicted.error().message);
  const Prediction& p = *time.step.predicted;
  out += row("predicted", interval(p));
  if (!p.beyond.empty()) out += row("beyond", p.beyond);
  out += terms(p);
  out += row("roofline", microseconds(p.roofline_us) +
                             " predicted: every key and row once, at the fitted bandwidth");
  if (time.step.stage1_bound_us)
    out += row("bound", microseconds(*time.step.stage1_bound_us) +
                            " predicted: no plan ends stage 1 before, at the fitted costs");
  return out + other_text(time) + choices_text(time) + faster_text(time) + planners_text(time);
}

std::string time_against_text(const StepTime& now, const StepTime& before) {
  const Prediction& a = *now.step.predicted;
  const Prediction& b = *before.step.predicted;
  const std::pair<const char*, double Prediction::*> parts[] = {
      {"stage 1", &Prediction::stage1_us},
      {"imbalance", &Prediction::imbalance_us},
      {"reduce", &Prediction::reduce_us},
      {"launch", &Prediction::launch_us}};
  const auto line = [](const char* label, double x, double y) {
    char text[160];
    std::snprintf(text, sizeof text, "  %-10s%9.1f us%12.1f us%+12.1f us predicted\n", label, x, y,
                  x - y);
    return std::string(text);
  };
  std::string out = row("this", files::printable(now.step.name)) +
                    row("against", files::printable(before.step.name)) +
                    "                   this     against      change\n";
  const char* most = "";
  double largest = 0;
  for (const auto& [label, part] : parts) {
    out += line(label, a.*part, b.*part);
    if (std::abs(a.*part - b.*part) > largest) largest = std::abs(a.*part - b.*part), most = label;
  }
  out += line("total", a.total_us(), b.total_us());
  return out + row("changed", largest == 0 ? "nothing, predicted" : say("most: ", most));
}

}  // namespace mla::app
