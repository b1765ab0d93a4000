#include "properties/app/failure_page.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "properties/app/failure_pictures.hpp"
#include "properties/show/pictures.hpp"

namespace mla::app {
namespace {

constexpr std::size_t kMostBytes = 4'000'000;  // of a page, pictures included

const char* look_of(prop::Verdict verdict) {
  switch (verdict) {
    case prop::Verdict::pass:
      return "good";
    case prop::Verdict::fail:
    case prop::Verdict::unexpected_pass:
      return "bad";
    default:
      return "open";
  }
}

std::string table_html(const BackendReport& b) {
  std::string out =
      "<table>\n<tr><th>id</th><th>property</th><th>ran</th><th>skipped</th><th>failed</th>"
      "<th>verdict</th><th></th></tr>\n";
  for (const prop::PropertyTally* tally : judged(b.report)) {
    const prop::PropertyTally& t = *tally;
    const prop::Verdict verdict = verdict_of(t);
    out += "<tr><td>" + show::escape(t.property->id) + "</td><td>" +
           show::escape(t.property->name) + "</td><td>" + show::count(t.ran) + "</td><td>" +
           show::count(t.skipped) + "</td><td>" + show::count(t.failed) + "</td><td class=\"" +
           look_of(verdict) + "\">" + show::escape(prop::name(verdict)) + "</td><td>" +
           show::escape(remark(t)) + "</td></tr>\n";
  }
  return out + "</table>\n";
}

std::size_t size_of(const show::Section& section) {
  std::size_t bytes = section.html.size();
  for (const show::Picture& p : section.pictures) bytes += p.body.size();
  return bytes;
}

std::string backend_html(const BackendReport& b) {
  std::string html = "<p>" + show::counted(b.report.cases, "case") + ", " +
                     show::count(b.report.refused) + " refused.";
  if (const std::string why = early_end(b.report); !why.empty())
    html += " Ended early: " + show::escape(why) + ".";
  html += "</p>\n";
  Facts facts = b.facts;
  for (std::string& line : b.report.launches.lines()) facts.emplace_back("launched", line);
  return html + show::facts_html(facts) + table_html(b);
}

}  // namespace

show::Section failure_section(const prop::Failure& f) {
  const std::string block = prop::failure_block(f);
  std::string html = "<p class=\"bad\">" + show::escape(f.outcome.message) + "</p>\n<p>" +
                     show::escape(f.property->sentence) + "</p>\n";
  if (!f.outcome.details.empty())
    html += "<p>" + show::escape(f.outcome.details.front()) + "</p>\n";
  const std::size_t repro = block.find("REPRO: ");
  html += command_html(block.substr(repro + 7, block.find('\n', repro) - repro - 7));
  if (f.shrinks > 0)
    html += say("<p>Made smaller ", show::counted(f.shrinks, "time"), ", from ",
                show::escape(format_case(f.original)), ", seed ", f.seed, ".</p>\n");
  html += "<details><summary>The failure block</summary>" + block_html(block) + "</details>\n";
  html += say("<p class=\"notes\">The case: ", show::escape(format_case(f.smallest)), "</p>\n");
  return {.heading = say("FAIL ", prop::failing_ids(f), " ", f.property->name),
          .html = std::move(html),
          .pictures = {}};
}

std::string block_html(const std::string& text) {
  return "<pre>" + show::escape(text) + "</pre>\n";
}

std::string command_html(const std::string& command) {
  return block_html(command) + "<button class=\"copy\">copy the command</button>\n";
}

std::string run_page(const RunSummary& summary, const std::vector<NamedBackend>& backends) {
  const prop::ExitCode code = summary.exit_code();
  std::vector<show::Section> sections;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < summary.backends.size(); ++i) {
    for (const prop::Failure& f : summary.backends[i].report.failures) {
      sections.push_back(failure_section(f));
      bytes += size_of(sections.back());
      if (bytes >= kMostBytes || i >= backends.size()) {
        sections.back().html +=
            "<p class=\"notes\">No pictures: the page would be too large. The command above with "
            "--html draws them.</p>\n";
        continue;
      }
      show::Section drawn = pictures_of_case(f.smallest, *backends[i].backend, nullptr);
      bytes += size_of(drawn);
      sections.push_back(std::move(drawn));
    }
  }
  for (const BackendReport& b : summary.backends)
    sections.push_back({.heading = say("backend ", b.backend, ", seed ", summary.seed),
                        .html = backend_html(b),
                        .pictures = {}});
  return show::html_page(
      say("mla-testbed run: ", describe(code), " (exit ", static_cast<int>(code), ")"), sections);
}

}  // namespace mla::app
