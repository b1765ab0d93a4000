// Svg: shapes and text as SVG, with everything foreign escaped.
//
// Units: pixels, y downwards. Classes name what a shape means; sheet() gives them their looks and
// goes into every document once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mla::show {

inline constexpr double kWidth = 960;  // of every picture

// Text for HTML and XML, elements and attributes; characters that XML forbids, marks that reorder
// text, and bytes that are no UTF-8 become U+FFFD.
std::string escape(std::string_view text);
// At most two decimals, none where they are zero.
std::string number(double value);
// 1234567 as "1,234,567".
std::string count(std::int64_t value);
// "1 work", "2 works".
std::string counted(std::int64_t value, std::string_view noun);
// A half-open range as its first and last element: "keys 0–783"; "key 5"; "no keys".
std::string span_text(std::string_view noun, std::int64_t begin, std::int64_t end);

// A picture below a title. `notes` say what is left out.
struct Picture {
  std::string id;
  std::string title;
  std::string body;  // SVG elements
  double height = 0;
  std::vector<std::string> notes;
};

class Svg {
 public:
  // `title` is what a pointer over the shape shows; `work` links shapes of one work (-1: none).
  void rect(double x, double y, double width, double height, std::string_view classes,
            std::string_view title = {}, std::int64_t work = -1);
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void path(std::string_view d, std::string_view classes);
  void text(double x, double y, std::string_view classes, std::string_view text);
  // What is drawn until end_lane() belongs together and lies `y` below where it is drawn. A page
  // finds it by its name; a hidden one is seen only where it is looked for.
  void begin_lane(std::string_view name, double y, double pitch, bool hidden);
  void end_lane() { out_ += "</g>\n"; }
  // What lies below all lanes, and moves with them.
  void begin_foot(double y);
  [[nodiscard]] std::string take() { return std::move(out_); }
  [[nodiscard]] std::size_t size() const { return out_.size(); }

 private:
  std::string out_;
};

// Classes r0 … r9 of a request.
std::string request_class(std::int64_t request);
// The style sheet of all pictures.
std::string_view sheet();
// Round steps for an axis from 0 to `end` with about `wanted` marks.
std::int64_t axis_step(std::int64_t end, std::int64_t wanted);
// Marks and numbers below a plot of `width` pixels that spans `end` units.
void draw_axis(Svg& svg, double left, double y, double width, std::int64_t end,
               std::string_view unit);

}  // namespace mla::show
