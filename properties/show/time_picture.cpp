#include "properties/show/time_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "core/say.hpp"

namespace mla::show {
namespace {

constexpr double kTimesLeft = 90;
constexpr double kTimesPlot = 690;
constexpr double kTimesTop = 16;
constexpr double kTimesHeight = 330;
constexpr std::int64_t kLineColours = 10;

std::string microseconds(double us) {
  char text[32];
  std::snprintf(text, sizeof text, us < 100 ? "%.1f us" : "%.0f us", us);
  return text;
}

// Where a number lies between two others, by factors: 0 to 1.
struct Scale {
  double low = 1;
  double high = 1;
  [[nodiscard]] double place(double value) const {
    return high > low ? std::log(value / low) / std::log(high / low) : 0.5;
  }
};

struct Axes {
  Scale keys;
  Scale us;
  [[nodiscard]] double x(std::int64_t n) const {
    return kTimesLeft + kTimesPlot * keys.place(static_cast<double>(n));
  }
  [[nodiscard]] double y(double t) const { return kTimesTop + kTimesHeight * (1 - us.place(t)); }
};

Axes axes_of(const std::vector<TimePoint>& points) {
  const auto [few, many] = std::ranges::minmax(points, {}, &TimePoint::keys);
  const auto [fast, slow] = std::ranges::minmax(points, {}, &TimePoint::us);
  return {{static_cast<double>(few.keys), static_cast<double>(many.keys)}, {fast.us, slow.us}};
}

// 1, 2, 5, 10, ... between the fastest and the slowest.
void draw_times(Svg& svg, const Axes& axes) {
  double decade = std::pow(10.0, std::floor(std::log10(axes.us.low)));
  for (; decade <= axes.us.high; decade *= 10)
    for (const double step : {1.0, 2.0, 5.0}) {
      const double us = decade * step;
      if (us < axes.us.low || us > axes.us.high) continue;
      const double y = axes.y(us);
      svg.line(kTimesLeft, y, kTimesLeft + kTimesPlot, y, "axis thin");
      svg.text(kTimesLeft - 8, y + 4, "note small end", say(number(us), " us"));
    }
}

// The keys of the points, those that have room for their number.
void draw_keys(Svg& svg, const Axes& axes, const std::vector<TimePoint>& points) {
  const double y = kTimesTop + kTimesHeight;
  svg.line(kTimesLeft, y, kTimesLeft + kTimesPlot, y, "axis");
  std::map<std::int64_t, bool> keys;
  for (const TimePoint& p : points) keys[p.keys] = true;
  double free = 0;
  for (const auto& [n, there] : keys) {
    const double x = axes.x(n);
    svg.line(x, y, x, y + 4, "axis");
    if (x < free) continue;
    svg.text(x, y + 16, "note small mid", count(n));
    free = x + 60;
  }
  svg.text(kTimesLeft + kTimesPlot, y + 32, "note small end", "keys of each request");
}

}  // namespace

Picture time_picture(const std::vector<TimePoint>& points) {
  Picture out{.id = "times",
              .title = "Predicted time of a step, a line for each number of requests",
              .body = {},
              .height = kTimesTop + kTimesHeight + 40,
              .notes = {}};
  if (points.empty()) {
    out.notes.emplace_back("Nothing is predicted of these shapes.");
    return out;
  }
  const Axes axes = axes_of(points);
  Svg svg;
  draw_times(svg, axes);
  draw_keys(svg, axes, points);
  std::map<std::int64_t, std::vector<TimePoint>> lines;
  for (const TimePoint& p : points) lines[p.requests].push_back(p);
  std::int64_t colour = 0;
  double above = -100;  // y of the label that was drawn last; the slowest line comes last
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    auto& [requests, own] = *line;
    std::ranges::sort(own, {}, &TimePoint::keys);
    const std::string classes = request_class(colour++ % kLineColours);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double x = axes.x(own[i].keys);
      const double y = axes.y(own[i].us);
      if (i > 0) svg.line(axes.x(own[i - 1].keys), axes.y(own[i - 1].us), x, y, classes);
      svg.rect(x - 4, y - 4, 8, 8, own[i].fitted ? classes : "out",
               say(counted(requests, "request"), " of ", counted(own[i].keys, "key"), ": ",
                   microseconds(own[i].us), " predicted, ", microseconds(own[i].low_us), " to ",
                   microseconds(own[i].high_us), own[i].fitted ? "" : "; a guess"));
    }
    const double label = std::max(axes.y(own.back().us) + 4, above + 14);
    svg.text(axes.x(own.back().keys) + 10, label, "small", counted(requests, "request"));
    above = label;
  }
  out.body = svg.take();
  if (std::ranges::any_of(points, [](const TimePoint& p) { return !p.fitted; }))
    out.notes.emplace_back("Hollow: a guess, since no published time covers such a shape.");
  out.notes.emplace_back("All times are predicted from published ones; none was measured here.");
  return out;
}

std::string time_svg(const std::string& title, const Picture& picture) {
  double y = 34 + picture.height;
  Svg notes;
  notes.text(20, 24, "title", title);
  for (const std::string& note : picture.notes) {
    notes.text(20, y + 8, "note", note);
    y += 20;
  }
  return say("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", number(kWidth), " ",
             number(y + 4), "\" width=\"", number(kWidth), "\" height=\"", number(y + 4),
             "\" role=\"img\">\n<title>", escape(title), "</title>\n<style>\n", sheet(),
             "</style>\n<rect width=\"", number(kWidth), "\" height=\"", number(y + 4),
             "\" fill=\"#ffffff\"/>\n", notes.take(), "<g transform=\"translate(0 34)\">\n",
             picture.body, "</g>\n</svg>\n");
}

}  // namespace mla::show
