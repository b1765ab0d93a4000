#include "properties/app/time_sweep.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "core/case/limits.hpp"
#include "core/say.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/step_time.hpp"
#include "properties/app/table_text.hpp"
#include "properties/show/document.hpp"
#include "properties/show/time_picture.hpp"

namespace mla::app {
namespace {

Result<timing::Prediction> predicted(const Case& c) {
  if (const MaybeError bad = check_list_memory(c)) return *bad;
  const auto time = time_step(c, {.others = false, .faster = false});
  if (!time) return time.error();
  return time->step.predicted;
}

MaybeError check_list(const char* what, const std::vector<std::int64_t>& list, std::int64_t least,
                      std::int64_t most) {
  constexpr std::size_t kMostEntries = 24;
  if (list.empty() || list.size() > kMostEntries)
    return Error{ErrorCode::usage,
                 say("a sweep has ", list.size(), " ", what, "; expected 1 to ", kMostEntries)};
  for (const std::int64_t n : list)
    if (n < least || n > most)
      return Error{ErrorCode::usage,
                   say("a sweep has ", n, " among its ", what, "; expected ", least, " to ", most)};
  return std::nullopt;
}

std::string cell(const SweepPoint& point) {
  if (!point.predicted) return "-";
  char text[32];
  const double us = point.predicted->total_us();
  std::snprintf(text, sizeof text, us < 1000 ? "%.1f%s" : "%.0f%s", us,
                point.predicted->beyond.empty() ? "" : "?");
  return text;
}

std::string right(const std::string& text, std::size_t columns) {
  return std::string(columns > text.size() ? columns - text.size() : 0, ' ') + text;
}

// Why entries have no time or are guesses, each reason once, with how many have it.
std::vector<std::string> reasons(const TimeSweep& sweep) {
  std::map<std::string, std::int64_t> none;
  std::int64_t guesses = 0;
  for (const SweepPoint& p : sweep.points) {
    if (!p.predicted)
      ++none[p.predicted.error().message];
    else
      guesses += p.predicted->beyond.empty() ? 0 : 1;
  }
  std::vector<std::string> out;
  if (guesses > 0) out.push_back(say("? a guess: no published time covers such a shape"));
  for (const auto& [why, count] : none)
    out.push_back(say("- ", count, count == 1 ? " shape: " : " shapes: ", why));
  return out;
}

}  // namespace

bool TimeSweep::any() const {
  return std::ranges::any_of(points, [](const SweepPoint& p) { return p.predicted.ok(); });
}

Result<TimeSweep> sweep_time(const Case& c, const SweepQuestion& question) {
  if (c.kind() != StepKind::decode || !c.later_steps.empty() || c.requests.empty())
    return Error{ErrorCode::unsupported, "a sweep is of one decode step with a request"};
  if (const MaybeError bad = check_list("batches", question.requests, 1, kMaxRequests)) return *bad;
  if (const MaybeError bad = check_list("contexts", question.keys, 0, kMaxKvLen)) return *bad;
  TimeSweep out{c, question, {}};
  for (const std::int64_t requests : question.requests)
    for (const std::int64_t keys : question.keys) {
      Case one = c;
      one.requests.assign(static_cast<std::size_t>(requests), {c.requests.front().qo_len, keys});
      out.points.push_back({requests, keys, predicted(one)});
    }
  return out;
}

std::string sweep_text(const TimeSweep& sweep) {
  constexpr std::size_t kColumn = 10;
  std::string out = row("case", format_case(sweep.spec));
  out +=
      "predicted us of a step, by requests (down) and keys of each (right)\n" + right("", kColumn);
  for (const std::int64_t keys : sweep.asked.keys) out += right(num(keys), kColumn);
  std::size_t i = 0;
  for (const std::int64_t requests : sweep.asked.requests) {
    out += "\n" + right(num(requests), kColumn);
    for (std::size_t k = 0; k < sweep.asked.keys.size(); ++k)
      out += right(cell(sweep.points[i++]), kColumn);
  }
  out += "\n";
  for (const std::string& reason : reasons(sweep)) out += reason + "\n";
  return out;
}

nlohmann::ordered_json sweep_json(const TimeSweep& sweep) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const SweepPoint& p : sweep.points)
    points.push_back(
        {{"requests", p.requests}, {"keys", p.keys}, {"predicted", prediction_json(p.predicted)}});
  return {{"format", "mla-testbed time sweep 1"},
          {"case", format_case(sweep.spec)},
          {"points", std::move(points)}};
}

std::string sweep_title(const TimeSweep& sweep) {
  const Case& c = sweep.spec;
  return say("Predicted times on ", name(c.arch), ", ", name(c.dtype.q), "/", name(c.dtype.kv),
             ", ", show::counted(c.heads, "head"), ", ",
             show::counted(c.requests.front().qo_len, "row"), " a request, planner ",
             name(c.planner));
}

show::Picture sweep_picture(const TimeSweep& sweep) {
  std::vector<show::TimePoint> points;
  for (const SweepPoint& p : sweep.points)
    if (p.predicted)
      points.push_back({p.requests, p.keys, p.predicted->total_us(), p.predicted->low_us,
                        p.predicted->high_us, p.predicted->beyond.empty()});
  return show::time_picture(points);
}

std::string sweep_page(const TimeSweep& sweep) {
  std::string table = "<table>\n<tr><th>predicted us</th>";
  for (const std::int64_t keys : sweep.asked.keys)
    table += "<th>" + show::counted(keys, "key") + "</th>";
  std::size_t i = 0;
  for (const std::int64_t requests : sweep.asked.requests) {
    table += "</tr>\n<tr><th>" + show::counted(requests, "request") + "</th>";
    for (std::size_t k = 0; k < sweep.asked.keys.size(); ++k)
      table += "<td>" + show::escape(cell(sweep.points[i++])) + "</td>";
  }
  table += "</tr>\n</table>\n";
  for (const std::string& reason : reasons(sweep))
    table += "<p class=\"notes\">" + show::escape(reason) + "</p>\n";
  return show::html_page(sweep_title(sweep),
                         {{.heading = "",
                           .html = show::facts_html({{"case", format_case(sweep.spec)}}),
                           .pictures = {sweep_picture(sweep)}},
                          {.heading = "", .html = table, .pictures = {}}});
}

}  // namespace mla::app
