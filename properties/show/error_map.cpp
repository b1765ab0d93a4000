#include "properties/show/error_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/say.hpp"
#include "core/units.hpp"

namespace mla::show {
namespace {

constexpr double kLeft = 90;
constexpr double kPlot = 830;
constexpr std::int64_t kMostLines = 64;
constexpr std::int64_t kMostColumns = 128;

struct Level {
  float most;  // times the bound
  const char* look;
  const char* words;
};
constexpr Level kLevels[] = {{0.25F, "h0", "up to ¼ of the bound"},
                             {1.0F, "h1", "within the bound"},
                             {4.0F, "h2", "up to 4 times"},
                             {100.0F, "h3", "up to 100 times"},
                             {std::numeric_limits<float>::max(), "h4", "more"},
                             {kUnwritten, "h5", "never written, or not finite"}};
constexpr Level kOpen = {kNotJudged, "h6", "not judged"};

const Level& level_of(float ratio) {
  if (ratio < 0) return kOpen;
  for (const Level& level : kLevels)
    if (ratio <= level.most) return level;
  return kLevels[5];  // NaN
}

std::string times(float ratio) {
  if (ratio < 0) return "not judged";
  if (!std::isfinite(ratio)) return "never written, or not finite";
  char text[48];
  std::snprintf(text, sizeof text, "%.3g times the bound", static_cast<double>(ratio));
  return text;
}

// A matrix with the names of its two sides; cells of `fold` lines and columns are drawn together.
struct Grid {
  const std::vector<float>& cells;
  std::int64_t lines = 0;
  std::int64_t columns = 0;
  const char* line = "row";
  const char* column = "head";

  [[nodiscard]] float worst(std::int64_t line0, std::int64_t line1, std::int64_t column0,
                            std::int64_t column1) const {
    float out = kNotJudged;
    for (std::int64_t i = line0; i < line1; ++i)
      for (std::int64_t j = column0; j < column1; ++j) {
        const float cell = cells[static_cast<std::size_t>(i * columns + j)];
        if (std::isnan(cell)) return kUnwritten;
        out = std::max(out, cell);
      }
    return out;
  }
};

double draw_legend(Svg& svg, double y) {
  double x = kLeft;
  const auto one = [&](const Level& level) {
    svg.rect(x, y, 14, 14, level.look);
    svg.text(x + 19, y + 11.5, "note small", level.words);
    x += 32 + 5.8 * static_cast<double>(std::string(level.words).size());
  };
  for (const Level& level : kLevels) one(level);
  one(kOpen);
  return y + 24;
}

Picture draw(const Grid& grid, std::string id, std::string title) {
  const std::int64_t tall = ceil_div(grid.lines, kMostLines);
  const std::int64_t wide = ceil_div(grid.columns, kMostColumns);
  const std::int64_t lines = ceil_div(grid.lines, tall);
  const std::int64_t columns = ceil_div(grid.columns, wide);
  const double width = kPlot / static_cast<double>(columns);
  const double height = std::clamp(420.0 / static_cast<double>(lines), 6.0, 18.0);
  const std::int64_t labelled = height >= 12 ? 1 : 2;
  Svg svg;
  double y = draw_legend(svg, 4);
  for (std::int64_t i = 0; i < lines; ++i, y += height) {
    const std::int64_t line0 = i * tall;
    const std::int64_t line1 = std::min(grid.lines, line0 + tall);
    if (i % labelled == 0)
      svg.text(kLeft - 8, y + height / 2 + 4, "end small", say(grid.line, " ", line0));
    for (std::int64_t j = 0; j < columns;) {
      // Neighbours of one level are one shape.
      const auto cell = [&](std::int64_t k) {
        return grid.worst(line0, line1, k * wide, std::min(grid.columns, (k + 1) * wide));
      };
      float worst = cell(j);
      const Level* level = &level_of(worst);
      std::int64_t end = j + 1;
      for (; end < columns && &level_of(cell(end)) == level; ++end)
        worst = std::max(worst, cell(end));
      svg.rect(kLeft + static_cast<double>(j) * width, y, width * static_cast<double>(end - j),
               height, level->look,
               span_text(grid.line, line0, line1) + ", " +
                   span_text(grid.column, j * wide, std::min(grid.columns, end * wide)) +
                   ": at most " + times(worst));
      j = end;
    }
  }
  draw_axis(svg, kLeft, y + 2, kPlot, grid.columns, say(grid.column, "s"));
  Picture out{.id = std::move(id),
              .title = std::move(title),
              .body = svg.take(),
              .height = y + 36,
              .notes = {}};
  if (tall > 1 || wide > 1)
    out.notes.push_back("A line of the picture is " + counted(tall, grid.line) + ", a column " +
                        counted(wide, grid.column) + ": the worst element of them.");
  return out;
}

}  // namespace

std::vector<Picture> error_pictures(const ErrorMap& map, const std::string& whose) {
  std::vector<Picture> out;
  if (map.rows <= 0 || map.heads <= 0) return out;
  out.push_back(draw({map.pairs, map.rows, map.heads, "row", "head"}, "errors",
                     "The error of " + whose + ": query rows and heads"));
  if (map.worst_dims.empty()) return out;
  out.push_back(draw({map.worst_dims, map.heads, map.dims, "head", "dim"}, "dims",
                     say("The error of row ", map.worst_row, ", the worst: heads and dims")));
  return out;
}

}  // namespace mla::show
