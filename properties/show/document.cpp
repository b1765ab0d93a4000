#include "properties/show/document.hpp"

#include <set>

#include "core/say.hpp"
#include "properties/show/page_parts.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

constexpr std::size_t kLongTitle = 160;  // bytes

std::string svg_of(const Picture& p) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(kWidth) + " " +
         number(p.height) + "\" role=\"img\" aria-label=\"" + escape(p.title) + "\">\n" + p.body +
         "</svg>\n";
}

// What a reader looks for in a picture of lanes, and how large it is.
std::string tools_html(const Picture& p) {
  if (p.body.find("<g data-lane=") == std::string::npos) return {};
  return say("<p class=\"tools\"><label>show <input type=\"search\" data-filter placeholder=\"",
             p.id == "slots" ? "slot 7, slots 0-15" : "request 3, 10-20, wrong",
             "\"></label> <button data-zoom=\"1.5\" aria-label=\"larger\">+</button> "
             "<button data-zoom=\"0.67\" aria-label=\"smaller\">−</button> "
             "<span role=\"status\"></span></p>\n");
}

// The first characters of a title; whole ones, since a title is UTF-8.
std::string shortened(const std::string& title) {
  if (title.size() <= kLongTitle) return title;
  std::size_t end = kLongTitle * 3 / 4;
  while (end > 0 && (static_cast<unsigned char>(title[end]) & 0xC0U) == 0x80U) --end;
  return title.substr(0, end) + "…";
}

// A case line may end its lines after each field.
std::string breakable(std::string_view text) {
  std::string out;
  for (const char c : escape(text)) {
    out += c;
    if (c == ';') out += "<wbr>";
  }
  return out;
}

// The name by which the page's list leads to a picture; empty for further ones of the same kind.
class Anchors {
 public:
  std::string next(const Picture& p) {
    const std::string name = p.id.starts_with("pages") ? "pages" : p.id;
    return seen_.insert(name).second ? name : std::string();
  }

 private:
  std::set<std::string> seen_;
};

std::string picture_html(const Picture& p, const std::string& anchor) {
  std::string out = anchor.empty() ? "<h2>" : "<h2 id=\"" + escape(anchor) + "\">";
  out += say(escape(p.title), "</h2>\n", tools_html(p), "<div class=\"wide\">\n", svg_of(p),
             "</div>\n");
  for (const std::string& note : p.notes) out += "<p class=\"notes\">" + escape(note) + "</p>\n";
  return out;
}

}  // namespace

std::string html_page(const std::string& title, const std::vector<Section>& sections) {
  const std::string heading = shortened(title);
  std::string out =
      say("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          escape(heading), "</title>\n<style>\n", page_sheet(), sheet(), adapted_sheet(),
          "</style>\n</head>\n<body>\n<h1>", breakable(heading), "</h1>\n");
  if (heading != title)
    out += say("<details><summary>in full</summary><pre>", escape(title), "</pre></details>\n");
  out += "<nav aria-label=\"pictures\">";
  Anchors named;
  for (const Section& s : sections)
    for (const Picture& p : s.pictures)
      if (const std::string anchor = named.next(p); !anchor.empty())
        out += "<a href=\"#" + escape(anchor) + "\">" + escape(anchor) + "</a>";
  out += "</nav>\n";
  Anchors anchors;
  for (const Section& s : sections) {
    if (!s.heading.empty()) out += "<h2>" + breakable(s.heading) + "</h2>\n";
    out += s.html;
    for (const Picture& p : s.pictures) out += picture_html(p, anchors.next(p));
  }
  return say(out, "<script>", page_script(), "</script>\n</body>\n</html>\n");
}

std::string with_footer(std::string page, const std::vector<std::string>& facts) {
  const std::size_t end = page.rfind("<script>");
  if (end == std::string::npos) return page;
  std::string footer = "<footer>";
  for (const std::string& fact : facts) footer += "<span>" + escape(fact) + "</span> ";
  return page.insert(end, footer + "</footer>\n");
}

std::string facts_html(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string out = "<table>\n";
  for (const auto& [fact, value] : facts)
    out += "<tr><th>" + escape(fact) + "</th><td>" + escape(value) + "</td></tr>\n";
  return out + "</table>\n";
}

std::string findings_html(const DrawnPlan& plan) {
  constexpr std::size_t kMost = 200;
  if (plan.findings.empty()) return {};
  std::string out = "<ul>\n";
  for (std::size_t i = 0; i < plan.findings.size() && i < kMost; ++i)
    out += "<li class=\"bad\"><b>" + escape(plan.findings[i].rule) +
           "</b>: " + escape(plan.findings[i].what) + "</li>\n";
  out += "</ul>\n";
  if (plan.findings.size() > kMost)
    out += "<p class=\"notes\">and " +
           counted(static_cast<std::int64_t>(plan.findings.size() - kMost), "finding") +
           " more</p>\n";
  return out;
}

std::vector<Picture> all_pictures(const DrawnPlan& plan) {
  std::vector<Picture> out{requests_picture(plan), slots_picture(plan), merges_picture(plan)};
  if (auto mask = mask_picture(plan)) out.push_back(std::move(*mask));
  out.push_back(balance_picture(plan));
  for (Picture& p : page_pictures(plan)) out.push_back(std::move(p));
  out.push_back(buffers_picture(plan));
  return out;
}

std::string plan_page(const DrawnPlan& plan) {
  std::string title = plan.title;
  std::string whole;
  if (title.size() > kLongTitle) {
    std::int64_t keys = 0;
    for (const plan::PlanningRequest& request : plan.requests) keys += request.tokens;
    title = say(counted(std::ssize(plan.requests), "request"), ", ", counted(keys, "key"), ", ",
                counted(plan.slots, "slot"));
    whole =
        say("<details><summary>the case</summary><pre>", escape(plan.title), "</pre></details>\n");
  }
  std::vector<Section> sections{
      {.heading = "", .html = whole + facts_html(plan.facts), .pictures = {}}};
  if (!plan.findings.empty())
    sections.push_back({.heading = counted(std::ssize(plan.findings), "violation"),
                        .html = findings_html(plan),
                        .pictures = {}});
  sections.push_back({.heading = "", .html = "", .pictures = all_pictures(plan)});
  return html_page(title, sections);
}

std::string plan_svg(const DrawnPlan& plan) {
  constexpr double kTitle = 34;
  std::string body;
  double y = 8;
  int number_of = 0;
  std::string notes;
  for (const Picture& p : {requests_picture(plan), slots_picture(plan), merges_picture(plan)}) {
    Svg title;
    title.text(20, y + 18, "title", say(++number_of, ". ", p.title));
    body += title.take() + "<g transform=\"translate(0 " + number(y + kTitle - 8) + ")\">\n" +
            p.body + "</g>\n";
    y += kTitle + p.height;
    for (const std::string& note : p.notes) {
      Svg line;
      line.text(20, y + 4, "note", note);
      body += line.take();
      y += 20;
    }
  }
  return say("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", number(kWidth), " ",
             number(y), "\" width=\"", number(kWidth), "\" height=\"", number(y),
             "\" role=\"img\">\n<title>", escape("The plan of " + plan.title),
             "</title>\n<style>\n", sheet(), "</style>\n<rect width=\"", number(kWidth),
             "\" height=\"", number(y), "\" fill=\"#ffffff\"/>\n", body, "</svg>\n");
}

}  // namespace mla::show
