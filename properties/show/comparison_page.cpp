#include "core/say.hpp"
#include "properties/show/comparison_rows.hpp"
#include "properties/show/document.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

// The plan with nothing outlined but what differs; works that are wrong are listed beside it.
DrawnPlan outlined(const DrawnPlan& plan, const std::vector<std::int64_t>& only,
                   const std::vector<std::int64_t>& moved, const char* other) {
  DrawnPlan out = plan;
  out.findings.clear();
  for (Work& w : out.works) w.finding = -1;
  std::int64_t marked = 0;
  const auto mark = [&](const std::vector<std::int64_t>& works, const std::string& what) {
    for (const std::int64_t index : works) {
      if (++marked > kMostMarked) return;
      out.works[static_cast<std::size_t>(index)].finding = std::ssize(out.findings);
      out.findings.push_back({kDiffersRule, what, index});
    }
  };
  mark(only, say("plan ", other, " has no such work"));
  mark(moved, say("on another slot in plan ", other));
  return out;
}

// Works of the second plan under the pointer light up their partners in the first: they take their
// number. Quotes of foreign text are escaped, so that `data-w="` is ours.
void link_works(Picture& picture, const std::vector<std::int64_t>& partner) {
  constexpr std::string_view kMark = "data-w=\"";
  std::string out;
  std::size_t at = 0;
  for (;;) {
    const std::size_t found = picture.body.find(kMark, at);
    if (found == std::string::npos) break;
    const std::size_t begin = found + kMark.size();
    const std::size_t end = picture.body.find('"', begin);
    const std::string number = picture.body.substr(begin, end - begin);
    const std::int64_t mate = partner[static_cast<std::size_t>(std::stoll(number))];
    out += picture.body.substr(at, begin - at);
    out += mate < 0 ? "b" + number : std::to_string(mate);
    at = end;
  }
  picture.body = out + picture.body.substr(at);
}

std::vector<Picture> pictures_of(const DrawnPlan& plan, const std::string& name) {
  std::vector<Picture> out{requests_picture(plan), slots_picture(plan), merges_picture(plan),
                           balance_picture(plan)};
  for (Picture& p : out) {
    p.id = name + "-" + p.id;
    p.title = name + ": " + p.title;
  }
  return out;
}

std::string costs_html(const Comparison& c, const DrawnPlan& first, const DrawnPlan& second) {
  std::string out = "<table>\n<tr><th></th><th>A</th><th>B</th><th>change</th></tr>\n";
  for (const CostRow& r : cost_rows(c))
    out += "<tr><th>" + escape(r.what) + "</th><td>" + escape(r.first) + "</td><td>" +
           escape(r.second) + "</td><td>" + escape(r.change) + "</td></tr>\n";
  out += "</table>\n<p class=\"notes\">" + escape(unit_line(c)) + "</p>\n";
  for (const std::string& line : predicted_lines(first, second))
    out += "<p class=\"notes\">" + escape(line) + "</p>\n";
  return out;
}

std::string lists_html(const Comparison& c, const DrawnPlan& first, const DrawnPlan& second) {
  std::string out;
  for (const DifferenceList& list : difference_lists(c, first, second)) {
    if (list.lines.empty()) continue;
    out += "<h2>" + escape(list.title) + "</h2>\n<ul>\n";
    for (const std::string& line : list.lines) out += "<li>" + escape(line) + "</li>\n";
    out += "</ul>\n";
  }
  return out;
}

std::string complaints(const DrawnPlan& plan, const char* name) {
  if (plan.findings.empty()) return {};
  return say("<p class=\"bad\">Plan ", name, " is broken:</p>\n", findings_html(plan));
}

}  // namespace

std::string comparison_page(const Comparison& c, const DrawnPlan& first, const DrawnPlan& second) {
  std::vector<std::int64_t> moved[2];
  for (const auto& [a, b] : c.moved) {
    moved[0].push_back(a);
    moved[1].push_back(b);
  }
  std::vector<Section> sections;
  sections.push_back({.heading = "",
                      .html = facts_html({{"A", first.title}, {"B", second.title}}) + "<p>" +
                              escape(verdict_line(c)) + "</p>\n" + complaints(first, "A") +
                              complaints(second, "B") + costs_html(c, first, second) +
                              lists_html(c, first, second),
                      .pictures = {}});
  if (!c.identical())
    sections.front().html +=
        "<p class=\"notes\">Outlined in the pictures are works that the other plan lacks or has on "
        "another slot, up to " +
        count(kMostMarked) + " of each plan.</p>\n";
  sections.push_back({.heading = "",
                      .html = "",
                      .pictures = pictures_of(outlined(first, c.only[0], moved[0], "B"), "A")});
  sections.push_back({.heading = "",
                      .html = "",
                      .pictures = pictures_of(outlined(second, c.only[1], moved[1], "A"), "B")});
  for (Picture& p : sections.back().pictures) link_works(p, c.partner);
  return html_page(
      say("Two plans: ", c.identical() ? "the same" : "what differs, and what it costs"), sections);
}

}  // namespace mla::show
