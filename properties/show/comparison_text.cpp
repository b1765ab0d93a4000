#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/show/comparison.hpp"
#include "properties/show/comparison_rows.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMost = 20;  // lines of a list
constexpr std::size_t kMostCuts = 8;

std::string padded(std::string text, std::size_t columns) {
  text.resize(std::max(columns, text.size() + 1), ' ');
  return text;
}

std::string cuts_text(const SplitChange& s, std::size_t side) {
  std::string out = counted(s.pieces[side], "work");
  const std::vector<std::int64_t>& cuts = s.cuts[side];
  if (!cuts.empty()) out += ", cut at";
  for (std::size_t i = 0; i < std::min(kMostCuts, cuts.size()); ++i) out += say(" ", cuts[i]);
  return out + (cuts.size() > kMostCuts ? " …" : "");
}

std::string merge_side(std::int64_t pieces) {
  return pieces == 0 ? "written at once" : "merged from " + counted(pieces, "piece");
}

Json cost_json(const PlanCost& c) {
  return {{"works", c.works},
          {"slots", c.slots},
          {"busy_slots", c.busy},
          {"busiest_slot_blocks", c.busiest},
          {"blocks", c.blocks},
          {"imbalance", c.imbalance()},
          {"keys_read", c.keys},
          {"merges", c.merges},
          {"partial_rows", c.partial_rows},
          {"reduce_bytes", c.traffic}};
}

Json works_json(const DrawnPlan& plan, const std::vector<std::int64_t>& works) {
  Json out = Json::array();
  for (const std::int64_t index : works) {
    const Work& w = plan.works[static_cast<std::size_t>(index)];
    out.push_back({{"work", w.index},
                   {"slot", w.slot},
                   {"request", w.request},
                   {"rows", {w.record.q_begin, w.record.q_end}},
                   {"keys", {w.key_begin, w.key_end}}});
  }
  return out;
}

}  // namespace

std::string work_line(const DrawnPlan& plan, std::int64_t index) {
  const Work& w = plan.works[static_cast<std::size_t>(index)];
  return say("work ", index, w.slot < 0 ? " in no slot: " : say(" on slot ", w.slot, ": "),
             w.request < 0 ? "no request" : plan.request_name(w.request), ", ",
             span_text("row", w.record.q_begin, w.record.q_end), ", ",
             span_text("key", w.key_begin, w.key_end));
}

std::vector<CostRow> cost_rows(const Comparison& c) {
  const auto row = [&c](const char* what, std::int64_t PlanCost::* value) {
    const std::int64_t a = c.cost[0].*value;
    const std::int64_t b = c.cost[1].*value;
    std::string change;
    if (a != b) {
      char text[48];
      const double percent = static_cast<double>(b - a) * 100 / static_cast<double>(a);
      std::snprintf(text, sizeof text, a == 0 ? "new" : "%+.1f %%", percent);
      change = text;
    }
    return CostRow{what, count(a), count(b), change};
  };
  char even[2][32];
  for (std::size_t side = 0; side < 2; ++side)
    std::snprintf(even[side], sizeof even[side], "%.2f", c.cost[side].imbalance());
  return {row("works", &PlanCost::works),
          row("slots with work", &PlanCost::busy),
          row("slots", &PlanCost::slots),
          row("blocks of the busiest slot", &PlanCost::busiest),
          row("blocks of all slots", &PlanCost::blocks),
          {"busiest slot over the mean", even[0], even[1], ""},
          row("keys read", &PlanCost::keys),
          row("merged tiles", &PlanCost::merges),
          row("partial rows", &PlanCost::partial_rows),
          row("bytes of the reduce", &PlanCost::traffic)};
}

std::vector<DifferenceList> difference_lists(const Comparison& c, const DrawnPlan& first,
                                             const DrawnPlan& second) {
  const auto list = [](std::string title, std::size_t all, const auto& line) {
    DifferenceList out{std::move(title), {}};
    for (std::size_t i = 0; i < std::min(kMost, all); ++i) out.lines.push_back(line(i));
    if (all > kMost) out.lines.push_back(say("and ", all - kMost, " more; --json has all"));
    return out;
  };
  return {list("requests that are cut otherwise", c.splits.size(),
               [&](std::size_t i) {
                 const SplitChange& s = c.splits[i];
                 return first.request_name(s.request) + ": A " + cuts_text(s, 0) + "; B " +
                        cuts_text(s, 1);
               }),
          list("works of A only", c.only[0].size(),
               [&](std::size_t i) { return work_line(first, c.only[0][i]); }),
          list("works of B only", c.only[1].size(),
               [&](std::size_t i) { return work_line(second, c.only[1][i]); }),
          list("works on another slot", c.moved.size(),
               [&](std::size_t i) {
                 const Work& b = second.works[static_cast<std::size_t>(c.moved[i].second)];
                 return say(work_line(first, c.moved[i].first), "; in B work ", b.index,
                            b.slot < 0 ? " in no slot" : say(" on slot ", b.slot));
               }),
          list("rows that are merged otherwise", c.merges.size(), [&](std::size_t i) {
            const MergeChange& m = c.merges[i];
            return span_text("row", m.row_begin, m.row_end) + ": A " + merge_side(m.pieces[0]) +
                   "; B " + merge_side(m.pieces[1]);
          })};
}

std::string verdict_line(const Comparison& c) {
  if (c.identical()) return "The plans are the same.";
  std::string out = counted(c.same, "work") + " on the same slot, " + count(std::ssize(c.moved)) +
                    " on another, " + count(std::ssize(c.only[0])) + " of A only, " +
                    count(std::ssize(c.only[1])) + " of B only.";
  if (c.renumbered > 0)
    out += " " + counted(c.renumbered, "work") +
           " of both with another number, partial row or kv_offset.";
  if (!c.batches.empty()) out = "The batches differ: " + c.batches + ". " + out;
  return out;
}

std::string unit_line(const Comparison& c) {
  return "A block is " + counted(c.granularity, "page") + " of A; each work also costs " +
         counted(c.overhead, "block") +
         ". The busiest slot is the time of stage 1 as the planner sees it. The reduce's bytes are "
         "float32 rows and LSE, written once and read once.";
}

std::vector<std::string> predicted_lines(const DrawnPlan& first, const DrawnPlan& second) {
  std::vector<std::string> out;
  if (!first.predicted.empty()) out.push_back("A: " + first.predicted);
  if (!second.predicted.empty()) out.push_back("B: " + second.predicted);
  return out;
}

std::string comparison_text(const Comparison& c, const DrawnPlan& first, const DrawnPlan& second) {
  std::string out =
      "A  " + first.title + "\nB  " + second.title + "\n\n" + verdict_line(c) + "\n\n";
  out += padded("", 30) + padded("A", 16) + padded("B", 16) + "change\n";
  for (const CostRow& r : cost_rows(c)) {
    std::string line = padded(r.what, 30) + padded(r.first, 16) + padded(r.second, 16) + r.change;
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  out += "\n" + unit_line(c) + "\n";
  for (const std::string& line : predicted_lines(first, second)) out += line + "\n";
  for (const DifferenceList& list : difference_lists(c, first, second)) {
    if (list.lines.empty()) continue;
    out += "\n" + list.title + "\n";
    for (const std::string& line : list.lines) out += "  " + line + "\n";
  }
  return out;
}

std::string comparison_json(const Comparison& c, const DrawnPlan& first, const DrawnPlan& second) {
  Json splits = Json::array();
  for (const SplitChange& s : c.splits)
    splits.push_back({{"request", s.request},
                      {"a", {{"works", s.pieces[0]}, {"cuts", s.cuts[0]}}},
                      {"b", {{"works", s.pieces[1]}, {"cuts", s.cuts[1]}}}});
  Json merges = Json::array();
  for (const MergeChange& m : c.merges)
    merges.push_back(
        {{"rows", {m.row_begin, m.row_end}}, {"pieces_a", m.pieces[0]}, {"pieces_b", m.pieces[1]}});
  Json moved = Json::array();
  for (const auto& [a, b] : c.moved) moved.push_back({a, b});
  const Json out = {{"format", "mla-testbed comparison 1"},
                    {"a", first.title},
                    {"b", second.title},
                    {"same", c.identical()},
                    {"batches_differ", c.batches},
                    {"pages_a_block", c.granularity},
                    {"blocks_a_work", c.overhead},
                    {"predicted_a", first.predicted},
                    {"predicted_b", second.predicted},
                    {"cost_a", cost_json(c.cost[0])},
                    {"cost_b", cost_json(c.cost[1])},
                    {"works_on_the_same_slot", c.same},
                    {"works_on_another_slot", moved},
                    {"works_renumbered", c.renumbered},
                    {"works_of_a_only", works_json(first, c.only[0])},
                    {"works_of_b_only", works_json(second, c.only[1])},
                    {"splits", splits},
                    {"merges", merges}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mla::show
