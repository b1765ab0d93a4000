#include <algorithm>
#include <map>

#include "core/say.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

constexpr double kPageLeft = 90;
constexpr double kPagePlot = 830;
constexpr double kPageHeight = 200;
constexpr std::size_t kMostRequests = 4;
constexpr std::size_t kMostRuns = 600;  // of one request

// Pages that follow each other in the cache, read by one work.
struct Run {
  std::int64_t logical = 0;  // within the request
  std::int64_t physical = 0;
  std::int64_t pages = 0;
  std::int64_t work = -1;
};

std::vector<Run> runs_of(const DrawnPlan& plan, const plan::PlanningRequest& r,
                         const std::map<std::int64_t, std::int64_t>& starts) {
  std::vector<Run> runs;
  std::int64_t work = -1;
  for (std::int64_t p = r.kv_begin; p < r.kv_end; ++p) {
    const auto start = starts.find(p);
    if (start != starts.end()) work = start->second;
    const std::int64_t id = plan.pages[static_cast<std::size_t>(p)];
    if (!runs.empty() && runs.back().physical + runs.back().pages == id && runs.back().work == work)
      ++runs.back().pages;
    else
      runs.push_back({p - r.kv_begin, id, 1, work});
  }
  return runs;
}

Picture draw(const DrawnPlan& plan, std::int64_t index, const std::vector<Run>& runs,
             std::int64_t pages) {
  std::int64_t low = runs.front().physical;
  std::int64_t high = low;
  for (const Run& run : runs) {
    low = std::min(low, run.physical);
    high = std::max(high, run.physical + run.pages);
  }
  Svg svg;
  svg.rect(kPageLeft, 8, kPagePlot, kPageHeight, "lane");
  const double across = kPagePlot / static_cast<double>(pages);
  const double down = kPageHeight / static_cast<double>(std::max<std::int64_t>(1, high - low));
  for (std::size_t i = 0; i < std::min(runs.size(), kMostRuns); ++i) {
    const Run& run = runs[i];
    const Work* w = run.work < 0 ? nullptr : &plan.works[static_cast<std::size_t>(run.work)];
    const double x = kPageLeft + static_cast<double>(run.logical) * across;
    const double y = 8 + static_cast<double>(run.physical - low) * down;
    const double width = std::max(2.0, static_cast<double>(run.pages) * across);
    const double height = std::max(2.0, static_cast<double>(run.pages) * down);
    const bool bent = width > 6 && height > 6;  // a run of pages rises from corner to corner
    const std::string title =
        say("pages ", run.logical, "..", run.logical + run.pages, " lie at ", run.physical, "..",
            run.physical + run.pages, "\n",
            w == nullptr ? "no work reads them" : say("read by work ", w->index));
    const std::string look = w == nullptr ? "gap" : work_class(plan, *w);
    if (bent) {
      svg.rect(x, y, width, height, look + " thin", title, run.work);
      svg.line(x, y, x + width, y + height, "arrow");
    } else {
      svg.rect(x, y, width, height, look, title, run.work);
    }
  }
  svg.text(kPageLeft - 8, 20, "end small", count(low));
  svg.text(kPageLeft - 8, 8 + kPageHeight, "end small", count(high - 1));
  svg.text(kPageLeft - 8, 8 + kPageHeight / 2, "note end small", "page id");
  draw_axis(svg, kPageLeft, 8 + kPageHeight, kPagePlot, pages,
            "pages of the request, from its first key on");
  Picture out{.id = say("pages", index),
              .title = "Where the pages of " + plan.request_name(index) + " lie in the cache",
              .body = svg.take(),
              .height = kPageHeight + 46,
              .notes = {}};
  if (runs.size() > kMostRuns)
    out.notes.push_back("Drawn are the first " + count(kMostRuns) + " of " +
                        counted(static_cast<std::int64_t>(runs.size()), "run") +
                        " of neighbouring pages.");
  return out;
}

}  // namespace

std::vector<Picture> page_pictures(const DrawnPlan& plan) {
  std::vector<Picture> out;
  std::vector<std::map<std::int64_t, std::int64_t>> starts(plan.requests.size());
  for (const Work& w : plan.works)
    if (w.request >= 0 && w.keys() > 0)
      starts[static_cast<std::size_t>(w.request)].emplace(w.record.kv_begin, w.index);
  std::int64_t left_out = 0;
  for (std::size_t i = 0; i < plan.requests.size(); i += static_cast<std::size_t>(plan.fold)) {
    const plan::PlanningRequest& r = plan.requests[i];
    if (plan.pages.empty() || r.kv_end <= r.kv_begin || r.kv_begin < 0 ||
        r.kv_end > std::ssize(plan.pages))
      continue;
    if (out.size() == kMostRequests) {
      ++left_out;
      continue;
    }
    out.push_back(draw(plan, static_cast<std::int64_t>(i), runs_of(plan, r, starts[i]),
                       r.kv_end - r.kv_begin));
  }
  if (left_out > 0)
    out.back().notes.push_back("The pages of " + counted(left_out, "further request") +
                               " are left out.");
  return out;
}

}  // namespace mla::show
