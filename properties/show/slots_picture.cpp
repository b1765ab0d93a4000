#include <algorithm>

#include "core/say.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

constexpr double kSlotsLeft = 90;
constexpr double kSlotsPlot = 830;
constexpr double kMostShapes = 5000;  // of works, about
constexpr double kNarrow =
    1.6;  // pixels; narrower works are drawn together, wider ones of large plans
constexpr std::int64_t kIdleRun = 3;   // idle slots in a row that become one line
constexpr double kSlotsCharacter = 7;  // pixels

struct SlotLane {
  std::int64_t slot = 0;
  std::int64_t idle = 0;  // slots from `slot` on without work; 0: this one has some
  std::vector<const Work*> works;
};

std::vector<SlotLane> slot_lanes(const DrawnPlan& plan) {
  std::vector<std::vector<const Work*>> slots(static_cast<std::size_t>(plan.slots));
  for (const Work& w : plan.works)
    if (w.slot >= 0) slots[static_cast<std::size_t>(w.slot)].push_back(&w);
  std::vector<SlotLane> lanes;
  for (std::int64_t s = 0; s < plan.slots;) {
    std::int64_t idle = 0;
    while (s + idle < plan.slots && slots[static_cast<std::size_t>(s + idle)].empty()) ++idle;
    if (idle >= kIdleRun) {
      lanes.push_back({s, idle, {}});
      s += idle;
      continue;
    }
    lanes.push_back({s, 0, std::move(slots[static_cast<std::size_t>(s)])});
    ++s;
  }
  return lanes;
}

std::string label_of(const DrawnPlan& plan, const Work& w, double width) {
  const std::string name = work_label(plan, w);
  std::string whole =
      name + ": " + plan.work_name(w) + ", " + span_text("key", w.key_begin, w.key_end);
  const auto fits = [width](const std::string& text) {
    return static_cast<double>(text.size()) * kSlotsCharacter < width;
  };
  if (fits(whole)) return whole;
  std::string shorter = say(name, ": ", w.key_begin, "…");
  if (fits(shorter)) return shorter;
  return fits(name) ? name : "";
}

class SlotsDrawing {
 public:
  SlotsDrawing(const DrawnPlan& plan, double lane, std::int64_t longest, std::size_t lanes)
      : plan_(plan),
        lane_(lane),
        scale_(longest > 0 ? kSlotsPlot / static_cast<double>(longest) : 0) {
    if (static_cast<double>(plan.works.size()) > kMostShapes)
      narrow_ = std::max(kNarrow, kSlotsPlot * static_cast<double>(lanes) / kMostShapes);
  }

  void draw(const SlotLane& lane, double y) {
    double x = kSlotsLeft;
    std::vector<const Work*> narrow;
    double narrow_from = x;
    for (const Work* w : lane.works) {
      const double width =
          std::max(static_cast<double>(w->keys()) * scale_, w->wrong() ? 3.0 : 0.0);
      if (width >= narrow_ || w->wrong()) {
        together(narrow, narrow_from, x, y);
        narrow.clear();
        one(*w, x, y, width);
        narrow_from = x + width;
      } else {
        narrow.push_back(w);
      }
      x += width;
      if (!narrow.empty() && x - narrow_from >= std::max(narrow_, 4 * kNarrow)) {
        together(narrow, narrow_from, x, y);
        narrow.clear();
        narrow_from = x;
      }
    }
    together(narrow, narrow_from, x, y);
  }
  Svg svg;
  std::int64_t drawn_together = 0;

 private:
  void one(const Work& w, double x, double y, double width) {
    svg.rect(x, y, width, lane_, work_class(plan_, w) + (lane_ < 12 ? " thin" : ""),
             work_text(plan_, w), w.index);
    if (lane_ < 14) return;
    const std::string label = label_of(plan_, w, width);
    if (!label.empty()) svg.text(x + width / 2, y + lane_ / 2 + 4.5, "mid", label);
  }
  void together(const std::vector<const Work*>& works, double from, double to, double y) {
    if (works.size() == 1) return one(*works.front(), from, y, std::max(to - from, 0.8));
    if (works.empty()) return;
    drawn_together += std::ssize(works);
    std::int64_t keys = 0;
    for (const Work* w : works) keys += w->keys();
    svg.rect(from, y, std::max(to - from, 0.8), lane_, "many thin",
             say("works ", works.front()->index, " to ", works.back()->index, ": ",
                 counted(keys, "key")));
  }
  const DrawnPlan& plan_;
  double lane_;
  double scale_;
  double narrow_ = kNarrow;
};

}  // namespace

Picture slots_picture(const DrawnPlan& plan) {
  const std::vector<SlotLane> lanes = slot_lanes(plan);
  std::int64_t longest = 0;
  for (const SlotLane& lane : lanes) {
    std::int64_t keys = 0;
    for (const Work* w : lane.works) keys += w->keys();
    longest = std::max(longest, keys);
  }
  const double pitch = std::clamp(1500.0 / static_cast<double>(lanes.size() + 1), 4.0, 38.0);
  const double lane = pitch >= 20 ? pitch - 10 : pitch >= 8 ? pitch - 2 : pitch - 0.5;
  const auto labelled = static_cast<std::size_t>(pitch >= 13 ? 1 : 13 / pitch + 1);
  SlotsDrawing drawing(plan, lane, longest, lanes.size());
  double y = 8;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].idle > 0) {
      const std::string idle =
          say("slots ", lanes[i].slot, "–", lanes[i].slot + lanes[i].idle - 1, ": no work");
      drawing.svg.begin_lane(idle, y, 18, false);
      drawing.svg.text(kSlotsLeft, 12, "note small", idle);
      drawing.svg.end_lane();
      y += 18;
      continue;
    }
    const std::string name = say("slot ", lanes[i].slot);
    drawing.svg.begin_lane(name, y, pitch, false);
    drawing.svg.text(kSlotsLeft - 10, lane / 2 + 4.5,
                     say("end", pitch >= 13 ? "" : " small", i % labelled == 0 ? "" : " asked"),
                     name);
    drawing.svg.rect(kSlotsLeft, 0, kSlotsPlot, lane, pitch >= 13 ? "lane" : "lane thin");
    drawing.draw(lanes[i], 0);
    drawing.svg.end_lane();
    y += pitch;
  }
  drawing.svg.begin_foot(y);
  draw_axis(drawing.svg, kSlotsLeft, 2, kSlotsPlot, longest,
            "keys that a slot reads, from left to right");
  drawing.svg.end_lane();
  Picture out{.id = "slots",
              .title = "The plan: a list of works for each slot (compute unit)",
              .body = drawing.svg.take(),
              .height = y + 40,
              .notes = {}};
  if (drawing.drawn_together > 0)
    out.notes.push_back("Grey boxes are " + count(drawing.drawn_together) + " of " +
                        counted(std::ssize(plan.works), "work") +
                        ", too narrow to be drawn one by one.");
  return out;
}

}  // namespace mla::show
