#include "properties/show/document.hpp"

#include <set>

#include "core/say.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

// Shows where else a work is drawn.
constexpr std::string_view kScript = R"(
document.addEventListener('mouseover', function (event) {
  document.querySelectorAll('.hot').forEach(function (e) { e.classList.remove('hot'); });
  var shape = event.target.closest('[data-w]');
  if (!shape) return;
  document.querySelectorAll('[data-w="' + shape.getAttribute('data-w') + '"]')
    .forEach(function (e) { e.classList.add('hot'); });
});
document.querySelectorAll('button.copy').forEach(function (button) {
  button.addEventListener('click', function () {
    var range = document.createRange();
    range.selectNodeContents(button.previousElementSibling);
    var selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    document.execCommand('copy');
  });
});
)";

constexpr std::string_view kPageSheet =
    R"(body { font: 15px/1.45 Helvetica, Arial, 'DejaVu Sans', sans-serif;
  color: #1f2933; background: #ffffff; max-width: 1040px; margin: 24px auto; padding: 0 20px }
h1 { font-size: 19px; overflow-wrap: anywhere }
h2 { font-size: 16px; margin: 34px 0 6px; overflow-wrap: anywhere }
p, li { margin: 4px 0; overflow-wrap: anywhere }
table { border-collapse: collapse; font-size: 13.5px }
td, th { padding: 2px 14px 2px 0; text-align: left; vertical-align: top; overflow-wrap: anywhere }
th { font-weight: normal; color: #52606d; white-space: nowrap }
pre { font: 12.5px/1.4 'DejaVu Sans Mono', Menlo, Consolas, monospace; background: #f4f6f8;
  padding: 8px 10px; white-space: pre-wrap; overflow-wrap: anywhere; margin: 6px 0 }
nav { font-size: 13.5px; margin: 8px 0 } nav a { margin-right: 14px; color: #2f6fab }
.bad { color: #b00000 } .good { color: #2f7d32 } .open { color: #8a6100 }
.notes { color: #52606d; font-size: 13.5px }
svg { width: 100%; height: auto; display: block }
[data-w] { cursor: pointer }
)";

std::string svg_of(const Picture& p) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(kWidth) + " " +
         number(p.height) + "\" role=\"img\" aria-label=\"" + escape(p.title) + "\">\n" + p.body +
         "</svg>\n";
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
  out += escape(p.title) + "</h2>\n" + svg_of(p);
  for (const std::string& note : p.notes) out += "<p class=\"notes\">" + escape(note) + "</p>\n";
  return out;
}

}  // namespace

std::string html_page(const std::string& title, const std::vector<Section>& sections) {
  std::string out =
      say("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>",
          escape(title), "</title>\n<style>\n", kPageSheet, sheet(),
          "</style>\n</head>\n<body>\n<h1>", breakable(title), "</h1>\n<nav>");
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
  return say(out, "<script>", kScript, "</script>\n</body>\n</html>\n");
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
  std::vector<Section> sections{{.heading = "", .html = facts_html(plan.facts), .pictures = {}}};
  if (!plan.findings.empty())
    sections.push_back({.heading = counted(std::ssize(plan.findings), "violation"),
                        .html = findings_html(plan),
                        .pictures = {}});
  sections.push_back({.heading = "", .html = "", .pictures = all_pictures(plan)});
  return html_page(plan.title, sections);
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
