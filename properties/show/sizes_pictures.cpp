#include <algorithm>

#include "core/say.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

constexpr double kSizesLeft = 170;
constexpr double kSizesPlot = 550;
constexpr double kBars = 830;  // of the balance
constexpr double kSizesHeight = 170;

}  // namespace

Picture buffers_picture(const DrawnPlan& plan) {
  Svg svg;
  double y = 8;
  for (const Buffer& b : plan.buffers) {
    const double share =
        b.capacity > 0 ? static_cast<double>(b.used) / static_cast<double>(b.capacity) : 0;
    svg.text(kSizesLeft - 10, y + 16, "end", b.name);
    svg.rect(kSizesLeft, y, kSizesPlot, 22, "lane");
    svg.rect(kSizesLeft, y, kSizesPlot * share, 22, "r0");
    svg.text(kSizesLeft + kSizesPlot + 12, y + 16, "note",
             count(b.used) + " of " + count(b.capacity) + " int32");
    y += 30;
  }
  return {.id = "buffers",
          .title = "The buffers: what a kernel reads of what is allocated",
          .body = svg.take(),
          .height = y + 4,
          .notes = {}};
}

Picture balance_picture(const DrawnPlan& plan) {
  struct Load {
    std::int64_t blocks = 0;
    std::int64_t works = 0;
  };
  std::vector<Load> loads(static_cast<std::size_t>(plan.slots));
  for (const Work& w : plan.works) {
    if (w.slot < 0) continue;
    Load& load = loads[static_cast<std::size_t>(w.slot)];
    load.blocks += plan.blocks(w);
    ++load.works;
  }
  const std::int64_t bound = plan.share.payload > 0 ? plan.share.payload + plan.share.tail : 0;
  std::int64_t most = std::max<std::int64_t>(1, bound);
  for (const Load& load : loads) most = std::max(most, load.blocks);
  const double left = 90;
  const double scale = kSizesHeight / static_cast<double>(most);
  const double wide = kBars / static_cast<double>(std::max<std::size_t>(1, loads.size()));
  Svg svg;
  std::size_t over = 0;
  for (std::size_t s = 0; s < loads.size(); ++s) {
    const Load& load = loads[s];
    if (load.blocks == 0) continue;
    const double x = left + static_cast<double>(s) * wide;
    const double height = static_cast<double>(load.blocks) * scale;
    const double overhead = static_cast<double>(load.works * plan.share.overhead) * scale;
    const bool too_much = bound > 0 && load.blocks > bound;
    over += too_much ? 1 : 0;
    const std::string title =
        say("slot ", s, ": ", counted(load.works, "work"), ", ", counted(load.blocks, "block"),
            ", overhead ", count(load.works * plan.share.overhead));
    const double bar = std::max(0.5, wide * (loads.size() > 60 ? 0.9 : 0.7));
    svg.rect(x, 16 + kSizesHeight - height, bar, height, too_much ? "twice thin" : "r0 thin",
             title);
    svg.rect(x, 16 + kSizesHeight - overhead, bar, overhead, "overhead", title);
  }
  svg.line(left, 16 + kSizesHeight, left + kBars, 16 + kSizesHeight, "axis");
  svg.text(left, 16 + kSizesHeight + 16, "note small", "slot 0");
  svg.text(
      left + kBars, 16 + kSizesHeight + 16, "note small end",
      say("slot ", plan.slots - 1, plan.share.overhead > 0 ? "; grey: overhead of the works" : ""));
  svg.text(left - 8, 20, "end small", count(most));
  svg.text(left - 8, 36, "note end small", "blocks");
  if (bound > 0) {
    const double y = 16 + kSizesHeight - static_cast<double>(bound) * scale;
    svg.line(left, y, left + kBars, y, "bound");
    svg.text(left + kBars, y - 4, "note small end",
             "the planner's bound: " + count(plan.share.payload) + " blocks and a tail of " +
                 count(plan.share.tail));
  }
  Picture out{.id = "balance",
              .title = "The balance: blocks of each slot",
              .body = svg.take(),
              .height = kSizesHeight + 40,
              .notes = {say("A block is ", counted(plan.share.granularity, "page"),
                            plan.share.overhead > 0
                                ? "; each work also costs " + counted(plan.share.overhead, "block")
                                : std::string(),
                            ".")}};
  if (bound == 0) out.notes.emplace_back("Only planner v1.2 promises a bound.");
  if (over > 0)
    out.notes.push_back(counted(static_cast<std::int64_t>(over), "slot") + " above the bound.");
  return out;
}

}  // namespace mla::show
