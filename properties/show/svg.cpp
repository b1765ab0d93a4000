#include "properties/show/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/say.hpp"

namespace mla::show {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes of the UTF-8 character that begins at `i`; 0 if none does.
std::size_t length_of(std::string_view text, std::size_t i, std::uint32_t& point) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(i);
  if (lead < 0x80) return point = lead, 1;
  const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || i + length > text.size()) return 0;
  point = lead & (0xFFU >> (length + 1));
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0U) != 0x80) return 0;
    point = point << 6U | (byte(i + k) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  return point < kLeast[length] || point > 0x10FFFF || surrogate ? 0 : length;
}

// Characters that a document may not hold, or that show other text than is there.
bool is_shown(std::uint32_t point) {
  if (point < 0x20) return point == '\n' || point == '\t';
  const bool control = point >= 0x7F && point < 0xA0;
  const bool direction = (point >= 0x200B && point <= 0x200F) ||
                         (point >= 0x2028 && point <= 0x202E) ||
                         (point >= 0x2060 && point <= 0x2069) || point == 0xFEFF || point == 0x61C;
  return !control && !direction && point != 0xFFFE && point != 0xFFFF;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = length_of(text, i, point);
    if (length == 0 || !is_shown(point)) {
      out += kReplacement;
    } else if (point == '&') {
      out += "&amp;";
    } else if (point == '<') {
      out += "&lt;";
    } else if (point == '>') {
      out += "&gt;";
    } else if (point == '"') {
      out += "&quot;";
    } else if (point == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(i, length);
    }
    i += std::max<std::size_t>(1, length);
  }
  return out;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

std::string count(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > first; i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string counted(std::int64_t value, std::string_view noun) {
  const char* const plural = noun.ends_with("ch") ? "es" : "s";
  return say(count(value), " ", noun, value == 1 ? "" : plural);
}

std::string span_text(std::string_view noun, std::int64_t begin, std::int64_t end) {
  if (end <= begin) return say("no ", noun, "s");
  if (end == begin + 1) return say(noun, " ", begin);
  return say(noun, "s ", begin, "–", end - 1);
}

void Svg::rect(double x, double y, double width, double height, std::string_view classes,
               std::string_view title, std::int64_t work) {
  out_ += say("<rect class=\"", classes, "\" x=\"", number(x), "\" y=\"", number(y), "\" width=\"",
              number(width), "\" height=\"", number(height), "\"");
  if (work >= 0) out_ += say(" data-w=\"", work, "\"");
  out_ += title.empty() ? "/>\n" : "><title>" + escape(title) + "</title></rect>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  out_ += say("<line class=\"", classes, "\" x1=\"", number(x1), "\" y1=\"", number(y1), "\" x2=\"",
              number(x2), "\" y2=\"", number(y2), "\"/>\n");
}

void Svg::path(std::string_view d, std::string_view classes) {
  out_ += say("<path class=\"", classes, "\" d=\"", d, "\"/>\n");
}

void Svg::text(double x, double y, std::string_view classes, std::string_view text) {
  out_ += say("<text class=\"", classes, "\" x=\"", number(x), "\" y=\"", number(y), "\">",
              escape(text), "</text>\n");
}

void Svg::begin_lane(std::string_view name, double y, double pitch, bool hidden) {
  out_ += say("<g data-lane=\"", escape(name), "\" data-pitch=\"", number(pitch),
              "\" transform=\"translate(0 ", number(y), ")\"", hidden ? " display=\"none\"" : "",
              ">\n");
}

void Svg::begin_foot(double y) {
  out_ += say("<g data-foot=\"\" transform=\"translate(0 ", number(y), ")\">\n");
}

std::string request_class(std::int64_t request) {
  return say("r", request < 0 ? 10 : request % 10);
}

std::string_view sheet() {
  return R"(text { font: 13px Helvetica, Arial, 'DejaVu Sans', sans-serif; fill: #1f2933 }
.title { font-size: 15px; font-weight: bold }
.note { fill: #52606d }
.small { font-size: 11px }
.end { text-anchor: end }
.asked { display: none }
.mid { text-anchor: middle; pointer-events: none }
.r0 { fill: #cfe3f7; stroke: #2f6fab }
.r1 { fill: #fbdcc0; stroke: #b86516 }
.r2 { fill: #d3edd1; stroke: #3f8a3b }
.r3 { fill: #e6d9f2; stroke: #7a4fa3 }
.r4 { fill: #fdeeb0; stroke: #9a7d0a }
.r5 { fill: #c9eeec; stroke: #1f8a85 }
.r6 { fill: #f8d3e2; stroke: #b03a73 }
.r7 { fill: #e3e0cc; stroke: #6f6a3a }
.r8 { fill: #d5dcf9; stroke: #4257b2 }
.r9 { fill: #ecd6c7; stroke: #85532c }
.r10 { fill: #e4e7eb; stroke: #52606d }
.many { fill: #9fb3c8; stroke: #486581 }
.lane { fill: #f4f6f8; stroke: #cbd2d9 }
.thin { stroke-width: 0.4 }
.overhead { fill: #cbd2d9; stroke: none }
.cut { stroke: #1f2933; stroke-width: 2; stroke-dasharray: 4 3 }
.axis { stroke: #9aa5b1 }
.bound { stroke: #c0392b; stroke-width: 1.5; stroke-dasharray: 6 3 }
.trim { fill: #e4e7eb; stroke: #9aa5b1; stroke-dasharray: 2 2 }
.gap { fill: #ffd6d6; stroke: #c0392b; stroke-dasharray: 3 2 }
.twice { fill: #f3a6a6; stroke: #c0392b }
.h0 { fill: #e3f1e1 }
.h1 { fill: #c3e2bd }
.h2 { fill: #ffd98a }
.h3 { fill: #f28a3c }
.h4 { fill: #c92a2a }
.h5 { fill: #3b0d0d }
.h6 { fill: #e4e7eb }
.out { fill: #ffffff; stroke: #52606d }
.arrow { stroke: #7b8794; fill: none }
.dot { stroke-width: 3; stroke-linecap: round }
.wrong { stroke: #d00000; stroke-width: 3 }
.hot { stroke: #000000; stroke-width: 2.5 }
)";
}

std::int64_t axis_step(std::int64_t end, std::int64_t wanted) {
  std::int64_t step = 1;
  while (end / step > wanted) {
    if (end / (step * 2) <= wanted) return step * 2;
    if (end / (step * 5) <= wanted) return step * 5;
    step *= 10;
  }
  return step;
}

void draw_axis(Svg& svg, double left, double y, double width, std::int64_t end,
               std::string_view unit) {
  svg.line(left, y, left + width, y, "axis");
  const std::int64_t step = axis_step(end, 8);
  for (std::int64_t at = 0; at <= end; at += step) {
    const double x =
        left + (end > 0 ? width * static_cast<double>(at) / static_cast<double>(end) : 0);
    svg.line(x, y, x, y + 4, "axis");
    svg.text(x, y + 16, "note small mid", count(at));
    if (end <= 0) break;
  }
  svg.text(left + width, y + 30, "note small end", unit);
}

}  // namespace mla::show
