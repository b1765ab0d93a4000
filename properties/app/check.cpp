#include "properties/app/check.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "core/say.hpp"
#include "properties/app/draw_dump.hpp"
#include "properties/dump/read/dump_file.hpp"
#include "properties/files/printable.hpp"

namespace mla::app {

using dump::Answer;
using dump::Finding;
using nlohmann::json;

namespace {

constexpr std::size_t kMostDrawn = 4'000'000;  // bytes of a page

// The answer with the pictures of its plan, while they fit into the page.
void draw_answer(const dump::Dump& dump, const Answer& answer,
                 std::vector<show::Section>& sections) {
  std::size_t bytes = 0;
  for (const show::Section& s : sections) {
    bytes += s.html.size();
    for (const show::Picture& p : s.pictures) bytes += p.body.size();
  }
  show::Section section{.heading = answer.name, .html = "", .pictures = {}};
  const auto drawn = draw_dump(dump, answer);
  if (!drawn) {
    for (const Finding& f : answer.findings)
      section.html +=
          "<p class=\"bad\">" + show::escape(f.rule) + ": " + show::escape(f.what) + "</p>\n";
    if (!answer.culprit.empty())
      section.html +=
          "<p>at fault: " + show::escape(answer.culprit + ": " + answer.diagnosis) + "</p>\n";
    section.html += "<p class=\"notes\">" + show::escape(drawn.error().message) + "</p>\n";
  } else {
    section.html = show::findings_html(*drawn);
    if (!answer.culprit.empty())
      section.html +=
          "<p>at fault: " + show::escape(answer.culprit + ": " + answer.diagnosis) + "</p>\n";
    section.html += show::facts_html(drawn->facts);
    if (bytes < kMostDrawn)
      section.pictures = show::all_pictures(*drawn);
    else
      section.html += "<p class=\"notes\">No pictures: the page would be too large.</p>\n";
  }
  sections.push_back(std::move(section));
}

void check_file(const std::string& path, bool draw, const SecondOpinion& ask, Checked& out) {
  const auto file = dump::DumpFile::open(path);
  if (!file) return out.unread.push_back(file.error());
  for (std::size_t place = 0; place < file->size(); ++place) {
    const auto dump = file->read(place);
    if (!dump) {
      out.unread.push_back(dump.error());
      continue;
    }
    auto answer = dump::check(*dump);
    if (!answer) {
      out.unread.push_back(file->at(place, answer.error()));
      continue;
    }
    if (ask)
      if (const MaybeError bad = ask(*dump, *answer)) out.unread.push_back(*bad);
    if (draw) draw_answer(*dump, *answer, out.sections);
    out.answers.push_back(std::move(*answer));
    out.places.push_back(path);
  }
}

// One defect of a builder breaks every work in the same way: the first lines of a rule say it all.
constexpr std::int64_t kLinesOfARule = 8;

std::string findings_text(const std::vector<Finding>& findings) {
  std::string out;
  std::map<std::string_view, std::int64_t> count;
  for (const Finding& f : findings)
    if (++count[f.rule] <= kLinesOfARule) out += "  " + f.rule + ": " + f.what + "\n";
  for (const auto& [rule, n] : count)
    if (n > kLinesOfARule)
      out += say("  ", rule, ": ", n - kLinesOfARule, " more; check --json lists all\n");
  return out;
}

// Copies of one dump have one name: where a name is that of several files, each has its file's too.
void name_apart(Checked& checked) {
  std::map<std::string, std::set<std::string>> places;
  for (std::size_t i = 0; i < checked.answers.size(); ++i)
    places[checked.answers[i].name].insert(checked.places[i]);
  for (std::size_t i = 0; i < checked.answers.size(); ++i) {
    std::string& name = checked.answers[i].name;
    if (places[name].size() < 2) continue;
    const std::string apart = say(checked.places[i], ": ", name);
    if (i < checked.sections.size()) checked.sections[i].heading = apart;
    name = apart;
  }
}

std::string tally_text(const Tally& t) {
  return say(t.valid, " valid, ", t.broken, " broken, ", t.not_checked, " not checked");
}

}  // namespace

Checked check_files(const std::vector<std::string>& paths, bool draw, const SecondOpinion& ask) {
  Checked checked;
  for (const std::string& path : paths) check_file(path, draw, ask, checked);
  name_apart(checked);
  return checked;
}

Tally tally_of(const std::vector<Answer>& answers) {
  Tally t;
  for (const Answer& a : answers) {
    std::int64_t& counter = !a.not_checked.empty() ? t.not_checked
                            : a.findings.empty()   ? t.valid
                                                   : t.broken;
    ++counter;
  }
  return t;
}

std::string check_text(const std::vector<Answer>& answers) {
  std::string out;
  for (const Answer& a : answers) {
    const std::string name = files::printable(a.name);
    if (!a.not_checked.empty()) {
      out += name + ": not checked: " + a.not_checked + "\n";
    } else {
      const std::size_t n = a.findings.size();
      out +=
          name + ": " + (n == 0 ? "valid" : say(n, n == 1 ? " violation" : " violations")) + "\n";
    }
    out += findings_text(a.findings);
    for (const std::string& note : a.notes) out += "  note: " + note + "\n";
    if (!a.where.empty()) out += "  wrong: " + a.where + "\n";
    if (!a.culprit.empty()) out += "  at fault: " + a.culprit + ": " + a.diagnosis + "\n";
  }
  return out + tally_text(tally_of(answers)) + "\n";
}

std::string check_json(const std::vector<Answer>& answers) {
  nlohmann::ordered_json plans = json::array();
  for (const Answer& a : answers) {
    nlohmann::ordered_json findings = json::array();
    for (const Finding& f : a.findings)
      findings.push_back({{"rule", f.rule}, {"what", f.what}, {"work", f.work}});
    plans.push_back(
        {{"name", a.name}, {"checked", a.not_checked.empty()}, {"violations", findings}});
    if (!a.culprit.empty()) {
      plans.back()["at_fault"] = a.culprit;
      plans.back()["diagnosis"] = a.diagnosis;
    }
    if (!a.where.empty()) plans.back()["wrong"] = a.where;
    if (!a.notes.empty()) plans.back()["notes"] = a.notes;
    if (!a.not_checked.empty()) plans.back()["reason"] = a.not_checked;
  }
  const nlohmann::ordered_json out = {{"format", "mla-testbed check 1"}, {"plans", plans}};
  return out.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

std::string check_page(const Checked& checked) {
  return show::html_page(tally_text(tally_of(checked.answers)), checked.sections);
}

}  // namespace mla::app
