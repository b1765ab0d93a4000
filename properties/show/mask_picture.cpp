#include <algorithm>

#include "core/say.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

constexpr double kMaskLeft = 120;
constexpr std::int64_t kMostMaskRows = 32;
constexpr std::int64_t kBefore = 8;  // keys in front of the first hidden one

const plan::PlanningRequest* longest_query(const DrawnPlan& plan, std::int64_t& index) {
  const plan::PlanningRequest* best = nullptr;
  for (std::size_t i = 0; i < plan.requests.size(); ++i) {
    const plan::PlanningRequest& r = plan.requests[i];
    if (r.tokens == 0 || (best != nullptr && r.q_end - r.q_begin <= best->q_end - best->q_begin))
      continue;
    best = &r;
    index = static_cast<std::int64_t>(i);
  }
  return best;
}

const Work* reader(const DrawnPlan& plan, std::int64_t request, std::int64_t row,
                   std::int64_t key) {
  for (const Work& w : plan.works)
    if (w.request == request && w.record.q_begin <= row && row < w.record.q_end &&
        w.key_begin <= key && key < w.key_end)
      return &w;
  return nullptr;
}

}  // namespace

std::optional<Picture> mask_picture(const DrawnPlan& plan) {
  std::int64_t index = -1;
  const plan::PlanningRequest* r = longest_query(plan, index);
  if (!plan.causal || r == nullptr || r->q_end - r->q_begin < 2) return std::nullopt;
  const std::int64_t rows = std::min(r->q_end - r->q_begin, kMostMaskRows);
  const std::int64_t first_row = r->q_end - rows;
  const std::int64_t first = std::max<std::int64_t>(0, r->tokens - rows - kBefore);
  const double cell = std::min(24.0, 800.0 / static_cast<double>(r->tokens - first));
  Svg svg;
  svg.text(kMaskLeft, 14, "note", span_text("key", first, r->tokens) + " of the request");
  double y = 22;
  for (std::int64_t row = first_row; row < r->q_end; ++row) {
    svg.text(kMaskLeft - 10, y + cell / 2 + 4.5, cell >= 13 ? "end" : "end small",
             say("row ", row));
    const std::int64_t seen = plan.visible(*r, row);
    for (std::int64_t key = first; key < r->tokens; ++key) {
      const double x = kMaskLeft + static_cast<double>(key - first) * cell;
      const Work* w = reader(plan, index, row, key);
      if (key >= seen)
        svg.rect(x, y, cell, cell, "trim", "hidden by the mask");
      else if (w == nullptr)
        svg.rect(x, y, cell, cell, "gap", "seen, and read by no work");
      else
        svg.rect(x, y, cell, cell, work_class(plan, *w), work_text(plan, *w), w->index);
      if (key < seen && w != nullptr && cell >= 16 && std::ssize(plan.works) <= 26)
        svg.text(x + cell / 2, y + cell / 2 + 4.5, "mid small", work_label(plan, *w));
    }
    y += cell;
  }
  Picture out{.id = "mask",
              .title = "The causal mask: rows and last keys of " + plan.request_name(index),
              .body = svg.take(),
              .height = y + 8,
              .notes = {}};
  if (rows < r->q_end - r->q_begin)
    out.notes.push_back(
        say("Drawn are the last ", rows, " of ", counted(r->q_end - r->q_begin, "row"), "."));
  return out;
}

}  // namespace mla::show
