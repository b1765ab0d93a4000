#include <algorithm>

#include "core/say.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

constexpr double kPiece = 40;    // left edge of the pieces
constexpr double kWidth1 = 430;  // of a piece
constexpr double kRows = 640;    // left edge of the rows
constexpr double kWidth2 = 280;
constexpr double kBox = 24;
constexpr double kPitch = 30;
constexpr std::size_t kMostTiles = 60;
constexpr std::size_t kMostPieces = 12;  // of a tile

bool is_wrong(const DrawnPlan& plan, const Tile& tile) {
  return std::any_of(tile.works.begin(), tile.works.end(), [&](std::int64_t w) {
    return w < 0 || plan.works[static_cast<std::size_t>(w)].wrong();
  });
}

void draw_piece(Svg& svg, const DrawnPlan& plan, const Tile& tile, std::size_t i, double y) {
  const std::int64_t row = tile.partial_rows[i];
  if (tile.works[i] < 0) {
    svg.rect(kPiece, y, kWidth1, kBox, "gap wrong", "no work writes this partial row");
    svg.text(kPiece + 10, y + 16.5, "", say("partial row ", row, ": nothing writes it"));
    return;
  }
  const Work& w = plan.works[static_cast<std::size_t>(tile.works[i])];
  svg.rect(kPiece, y, kWidth1, kBox, work_class(plan, w), work_text(plan, w), w.index);
  svg.text(
      kPiece + 10, y + 16.5, "",
      say(work_label(plan, w), ": slot ", w.slot, ", ", span_text("key", w.key_begin, w.key_end),
          " → ",
          span_text("partial row", row, row + std::int64_t{w.record.q_end} - w.record.q_begin)));
}

// The height that the tile takes.
double draw_tile(Svg& svg, const DrawnPlan& plan, const Tile& tile, double top) {
  const std::size_t shown = std::min(tile.works.size(), kMostPieces);
  const bool more = shown < tile.works.size();
  const double height = static_cast<double>(shown + (more ? 1 : 0)) * kPitch;
  const double middle = top + height / 2 - (kPitch - kBox) / 2;
  for (std::size_t i = 0; i < shown; ++i) {
    const double y = top + static_cast<double>(i) * kPitch;
    draw_piece(svg, plan, tile, i, y);
    const std::string from = number(kPiece + kWidth1) + "," + number(y + kBox / 2);
    svg.path("M" + from + " C" + number(kRows - 90) + "," + number(y + kBox / 2) + " " +
                 number(kPiece + kWidth1 + 90) + "," + number(middle) + " " + number(kRows) + "," +
                 number(middle),
             "arrow");
  }
  if (more)
    svg.text(
        kPiece + 10, top + static_cast<double>(shown) * kPitch + 16.5, "note",
        "and " + counted(static_cast<std::int64_t>(tile.works.size() - shown), "piece") + " more");
  const std::int64_t first = tile.works.front();
  const Work* w = first < 0 ? nullptr : &plan.works[static_cast<std::size_t>(first)];
  svg.rect(kRows, middle - kBox / 2, kWidth2, kBox,
           w == nullptr ? "out" : request_class(w->request < 0 ? -1 : w->request / plan.fold),
           say("tile ", tile.index, ": merged from ", counted(std::ssize(tile.works), "piece")));
  svg.text(kRows + 10, middle + 4.5, "",
           span_text("row", tile.row_begin, tile.row_end) +
               (w == nullptr || w->request < 0 ? "" : ", " + plan.request_name(w->request)));
  return height;
}

}  // namespace

Picture merges_picture(const DrawnPlan& plan) {
  std::vector<const Tile*> tiles;
  for (const Tile& tile : plan.tiles) tiles.push_back(&tile);
  if (tiles.size() > kMostTiles) {
    std::stable_sort(tiles.begin(), tiles.end(), [&](const Tile* a, const Tile* b) {
      return is_wrong(plan, *a) && !is_wrong(plan, *b);
    });
    tiles.resize(kMostTiles);
  }
  Svg svg;
  double y = 8;
  for (const Tile* tile : tiles) y += draw_tile(svg, plan, *tile, y) + 14;
  if (tiles.empty()) {
    svg.text(kPiece, y + 14, "note", "No row is merged: every work writes the output itself.");
    y += 24;
  }
  const auto whole = std::count_if(plan.works.begin(), plan.works.end(), [](const Work& w) {
    return w.slot >= 0 && w.record.partial_row < 0 && w.keys() > 0;
  });
  Picture out{.id = "merges",
              .title = "The reduce: pieces of the same rows are merged into the output",
              .body = svg.take(),
              .height = y + 6,
              .notes = {}};
  if (whole > 0)
    out.notes.push_back(counted(whole, "work") + (whole == 1 ? " writes" : " write") +
                        " the output directly.");
  if (plan.work_heads > 0 && !tiles.empty())
    out.notes.emplace_back(
        "The works of all heads write a piece, each the columns of its own; the first is drawn.");
  if (plan.tiles.size() > tiles.size())
    out.notes.push_back(say("Drawn are ", tiles.size(), " of ",
                            counted(std::ssize(plan.tiles), "merged tile"), ", wrong ones first."));
  return out;
}

}  // namespace mla::show
