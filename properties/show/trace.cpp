// Trace Event Format: "X" events are boxes, "M" names tracks, "s" and "f" draw an arrow.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/show/document.hpp"

namespace mla::show {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSlots = 1;  // process ids
constexpr int kMerges = 2;

Json name_of(const char* what, int process, std::int64_t track, const std::string& name) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}};
}

Json work_event(const DrawnPlan& plan, const Work& w, std::int64_t begin) {
  const plan::WorkItem& r = w.record;
  Json args = {{"work", w.index},
               {"batch", r.batch},
               {"rows", {r.q_begin, r.q_end}},
               {"pages", {r.kv_begin, r.kv_end}},
               {"kv_offset", r.kv_offset},
               {"partial_row", r.partial_row}};
  if (w.wrong()) args["wrong"] = plan.findings[static_cast<std::size_t>(w.finding)].what;
  return {{"name", plan.work_name(w)},
          {"cat", w.wrong() ? "wrong" : "work"},
          {"ph", "X"},
          {"ts", begin},
          {"dur", plan.blocks(w)},
          {"pid", kSlots},
          {"tid", w.slot},
          {"args", std::move(args)}};
}

Json arrow(const char* phase, std::int64_t id, int process, std::int64_t track, std::int64_t at) {
  Json out = {{"name", "merge"}, {"cat", "merge"}, {"ph", phase}, {"id", id},
              {"ts", at},        {"pid", process}, {"tid", track}};
  if (*phase == 'f') out["bp"] = "e";
  return out;
}

}  // namespace

std::string plan_trace(const DrawnPlan& plan) {
  Json events = Json::array();
  events.push_back(name_of("process_name", kSlots, 0, "slots"));
  std::vector<std::int64_t> clock(static_cast<std::size_t>(plan.slots));
  std::vector<std::int64_t> ends(plan.works.size());
  std::vector<bool> named(clock.size());
  for (const Work& w : plan.works) {
    if (w.slot < 0) continue;
    const auto s = static_cast<std::size_t>(w.slot);
    if (!named[s]) events.push_back(name_of("thread_name", kSlots, w.slot, say("slot ", s)));
    named[s] = true;
    events.push_back(work_event(plan, w, clock[s]));
    clock[s] += plan.blocks(w);
    ends[static_cast<std::size_t>(w.index)] = clock[s];
  }
  if (!plan.tiles.empty()) events.push_back(name_of("process_name", kMerges, 0, "merges"));
  std::int64_t arrows = 0;
  for (const Tile& tile : plan.tiles) {
    std::int64_t ready = 0;
    for (const std::int64_t w : tile.works)
      if (w >= 0) ready = std::max(ready, ends[static_cast<std::size_t>(w)]);
    events.push_back({{"name", say("rows ", tile.row_begin, "..", tile.row_end)},
                      {"cat", "merge"},
                      {"ph", "X"},
                      {"ts", ready},
                      {"dur", std::ssize(tile.works)},
                      {"pid", kMerges},
                      {"tid", tile.index},
                      {"args", {{"tile", tile.index}, {"partial_rows", tile.partial_rows}}}});
    for (const std::int64_t w : tile.works) {
      if (w < 0) continue;
      const Work& from = plan.works[static_cast<std::size_t>(w)];
      events.push_back(arrow("s", arrows, kSlots, from.slot, ends[static_cast<std::size_t>(w)]));
      events.push_back(arrow("f", arrows++, kMerges, tile.index, ready));
    }
  }
  const Json out = {{"traceEvents", events},
                    {"otherData",
                     {{"plan", plan.title},
                      {"unit", "one microsecond is one block of keys, overhead included"}}}};
  return out.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace mla::show
