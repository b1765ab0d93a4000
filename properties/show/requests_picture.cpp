#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/say.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

constexpr double kRequestsLeft = 170;
constexpr double kRequestsPlot = 750;
constexpr std::size_t kMostLanes = 48;         // seen at first
constexpr std::size_t kMostKept = 1024;        // that a page can be asked for
constexpr std::size_t kMostLanePieces = 4000;  // of all lanes
constexpr double kRequestsCharacter = 7;       // pixels

// Rows of a request that the same works cover, or a request without works.
struct RequestLane {
  std::int64_t request = 0;
  std::int64_t q_begin = 0;
  std::int64_t q_end = 0;
  std::int64_t head = 0;            // the first that the pieces are of
  std::vector<const Work*> pieces;  // by their first key
  bool wrong = false;
  bool hidden = false;
};

std::vector<RequestLane> request_lanes(const DrawnPlan& plan) {
  using Key = std::array<std::int64_t, 4>;  // request, rows, first head
  std::map<Key, RequestLane> tiles;
  std::vector<bool> covered(plan.requests.size());
  for (const Work& w : plan.works) {
    if (w.request < 0 || w.slot < 0) continue;
    covered[static_cast<std::size_t>(w.request)] = true;
    RequestLane& lane = tiles[{w.request, w.record.q_begin, w.record.q_end, w.head}];
    lane.request = w.request;
    lane.q_begin = w.record.q_begin;
    lane.q_end = w.record.q_end;
    lane.head = w.head;
    lane.pieces.push_back(&w);
    lane.wrong = lane.wrong || w.wrong();
  }
  for (std::size_t r = 0; r < covered.size(); ++r) {
    const plan::PlanningRequest& request = plan.requests[r];
    if (covered[r]) continue;
    const auto index = static_cast<std::int64_t>(r);
    tiles[{index, request.q_begin, request.q_end, 0}] = {.request = index,
                                                         .q_begin = request.q_begin,
                                                         .q_end = request.q_end,
                                                         .head = 0,
                                                         .pieces = {},
                                                         .wrong = request.tokens > 0};
  }
  std::vector<RequestLane> lanes;
  for (auto& [key, lane] : tiles) {
    std::stable_sort(lane.pieces.begin(), lane.pieces.end(),
                     [](const Work* a, const Work* b) { return a->key_begin < b->key_begin; });
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

// Whether two lanes are the same rows of other heads, cut at the same keys.
bool alike(const RequestLane& a, const RequestLane& b) {
  return a.request == b.request && a.q_begin == b.q_begin && a.q_end == b.q_end && !a.wrong &&
         !b.wrong &&
         std::equal(a.pieces.begin(), a.pieces.end(), b.pieces.begin(), b.pieces.end(),
                    [](const Work* x, const Work* y) {
                      return x->key_begin == y->key_begin && x->key_end == y->key_end;
                    });
}

// Those that a reader looks for: wrong ones, then those that are cut most often. The others wait
// until they are asked for.
void select(std::vector<RequestLane>& lanes) {
  if (lanes.size() <= kMostLanes) return;
  std::stable_sort(lanes.begin(), lanes.end(), [](const RequestLane& a, const RequestLane& b) {
    if (a.wrong != b.wrong) return a.wrong;
    return a.pieces.size() > b.pieces.size();
  });
  lanes.resize(std::min(lanes.size(), kMostKept));
  for (std::size_t i = kMostLanes; i < lanes.size(); ++i) lanes[i].hidden = true;
  std::stable_sort(lanes.begin(), lanes.end(), [](const RequestLane& a, const RequestLane& b) {
    return std::pair(a.request, a.q_begin) < std::pair(b.request, b.q_begin);
  });
}

class Drawing {
 public:
  Drawing(const DrawnPlan& plan, double height, std::int64_t longest, std::size_t lanes)
      : most(kMostLanePieces / std::max<std::size_t>(1, lanes)),
        plan_(plan),
        height_(height),
        scale_(longest > 0 ? kRequestsPlot / static_cast<double>(longest) : 0) {}

  void draw(const RequestLane& lane, double y) {
    const plan::PlanningRequest& request = plan_.requests[static_cast<std::size_t>(lane.request)];
    const std::string rows = request.q_end - request.q_begin == lane.q_end - lane.q_begin
                                 ? counted(lane.q_end - lane.q_begin, "row")
                                 : span_text("row", lane.q_begin, lane.q_end);
    svg.text(kRequestsLeft - 10, y + height_ / 2 + 4.5, height_ >= 13 ? "end" : "end small",
             plan_.request_name(lane.request) + ", " + rows +
                 (lane.wrong && plan_.work_heads > 0 ? say(", head ", lane.head) : std::string()));
    // A tile sees what its last row sees.
    const std::int64_t seen =
        std::clamp<std::int64_t>(plan_.visible(request, lane.q_end - 1), 0, request.tokens);
    mark(seen, request.tokens, y, "trim", "keys that the mask hides from all rows of this tile");
    std::int64_t covered = 0;
    std::size_t drawn = 0;
    for (const Work* w : lane.pieces) {
      if (++drawn > most) continue;
      if (w->key_begin > covered)
        mark(covered, std::min(w->key_begin, seen), y, "gap", "keys that no work reads");
      piece(*w, y);
      if (w->key_begin < covered)
        mark(w->key_begin, std::min(covered, w->key_end), y, "twice", "keys that two works read");
      if (w->key_begin > 0) cuts_.push_back({w->key_begin, y});
      covered = std::max(covered, w->key_end);
    }
    if (drawn <= most && covered < seen) mark(covered, seen, y, "gap", "keys that no work reads");
    if (drawn > most) not_drawn += static_cast<std::int64_t>(drawn - most);
    for (const auto& [key, at] : cuts_)
      if (height_ >= 10) svg.line(x_of(key), at - 5, x_of(key), at + height_ + 5, "cut");
    cuts_.clear();
    if (request.tokens == 0) svg.text(kRequestsLeft, y + height_ / 2 + 4.5, "note", "no keys");
  }
  Svg svg;
  const std::size_t most;  // pieces of a lane
  std::int64_t not_drawn = 0;

 private:
  [[nodiscard]] double x_of(std::int64_t key) const {
    return kRequestsLeft + static_cast<double>(key) * scale_;
  }
  void mark(std::int64_t begin, std::int64_t end, double y, const char* what, const char* title) {
    if (end <= begin) return;
    svg.rect(x_of(begin), y, std::max(1.5, x_of(end) - x_of(begin)), height_, what,
             say(title, ": ", begin, "..", end));
  }
  void piece(const Work& w, double y) {
    const double width = std::max(w.wrong() ? 3.0 : 0.8, x_of(w.key_end) - x_of(w.key_begin));
    svg.rect(x_of(w.key_begin), y, width, height_,
             work_class(plan_, w) + (height_ < 12 ? " thin" : ""), work_text(plan_, w), w.index);
    const std::string label = work_label(plan_, w) + ": " + counted(w.keys(), "key");
    if (height_ >= 14 && static_cast<double>(label.size()) * kRequestsCharacter < width)
      svg.text(x_of(w.key_begin) + width / 2, y + height_ / 2 + 4.5, "mid", label);
  }
  const DrawnPlan& plan_;
  double height_;
  double scale_;
  std::vector<std::pair<std::int64_t, double>> cuts_;
};

}  // namespace

Picture requests_picture(const DrawnPlan& plan) {
  std::vector<RequestLane> lanes = request_lanes(plan);
  const auto of_other_heads = std::unique(lanes.begin(), lanes.end(), alike);
  const bool once = of_other_heads != lanes.end();
  lanes.erase(of_other_heads, lanes.end());
  const std::size_t all = lanes.size();
  select(lanes);
  std::int64_t longest = 0;
  for (const RequestLane& lane : lanes)
    longest = std::max(longest, plan.requests[static_cast<std::size_t>(lane.request)].tokens);
  const auto seen = std::ranges::count(lanes, false, &RequestLane::hidden);
  const double pitch = seen > 30 ? 17 : 38;
  Drawing drawing(plan, pitch - (pitch > 20 ? 12 : 5), longest, lanes.size());
  double y = 8;
  for (const RequestLane& lane : lanes) {
    drawing.svg.begin_lane(plan.request_name(lane.request), y, pitch, lane.hidden);
    drawing.draw(lane, 0);
    drawing.svg.end_lane();
    if (!lane.hidden) y += pitch;
  }
  drawing.svg.begin_foot(y);
  draw_axis(drawing.svg, kRequestsLeft, 0, kRequestsPlot, longest,
            "keys of the request; dashed: the planner cuts here");
  drawing.svg.end_lane();
  Picture out{.id = "requests",
              .title = "The batch: requests, their cached keys, and the works that read them",
              .body = drawing.svg.take(),
              .height = y + 38,
              .notes = {}};
  if (once) out.notes.emplace_back("Heads of the same rows that are cut alike are drawn once.");
  if (std::cmp_greater(all, seen))
    out.notes.push_back(
        say("Shown are ", seen, " of ", counted(static_cast<std::int64_t>(all), "tile"),
            ": wrong ones first, then those that are cut most often.",
            all > lanes.size() ? say(" The page holds ", lanes.size(), " of them.") : ""));
  if (drawing.not_drawn > 0)
    out.notes.push_back(say(counted(drawing.not_drawn, "piece"), " of tiles with more than ",
                            drawing.most, " are left out."));
  return out;
}

}  // namespace mla::show
