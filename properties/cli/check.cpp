// `mla-testbed check`: whether plan buffers in files are valid plans for their batches.
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/say.hpp"
#include "properties/app/draw_dump.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/dump/read/dump_file.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"
#include "properties/show/document.hpp"

namespace mla::cli {
namespace {

using dump::Answer;
using dump::Finding;
using nlohmann::json;
using prop::ExitCode;

struct CheckOptions {
  std::vector<std::string> files;
  bool json = false;
  std::string html;  // empty: none
};

constexpr const char* kCheckFooter = R"(
Reads what `mla-testbed plan --json` prints, a golden vector, or a dump of a running engine in the
same keys (docs/reference/bundles.md): one object, a list of objects, an object with a list `cases`,
or a bundle: a folder with manifest.json and one .npy file for each buffer.
Prints the violated invariants as sentences, the first 8 of each rule (--json: all), and who is at
fault: the planner, if it makes this plan from this call, or the builder, if it asked for another
plan or kept an old one. A note is no violation: it names for example a defect of the kernel.
Exit: 0 every plan is valid, 1 a plan is broken, 4 there was no plan, 10 a plan is of a kind that
cannot be checked (sparse, or a step without one). A file or plan that cannot be read is named on
stderr, and the others are judged: 1 if one of them is broken, otherwise 2 or 3.

Examples:
  mla-testbed check dump.json
  mla-testbed check fixtures/bundles/heads --html heads.html
  mla-testbed plan 'mla1:2q1s8k;cu=80' --json | mla-testbed check -
  mla-testbed check --json fixtures/golden/*.json)";

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
  const auto drawn = app::draw_dump(dump, answer);
  if (!drawn) {
    for (const Finding& f : answer.findings)
      section.html +=
          "<p class=\"bad\">" + show::escape(f.rule) + ": " + show::escape(f.what) + "</p>\n";
    if (!answer.culprit.empty())
      section.html +=
          "<p>at fault: " + show::escape(answer.culprit + ": " + answer.diagnosis) + "</p>\n";
    section.html += "<p class=\"notes\">" + show::escape(drawn.error().message) + "</p>\n";
  } else {
    section.html = show::facts_html(drawn->facts) + show::findings_html(*drawn);
    if (bytes < kMostDrawn)
      section.pictures = show::all_pictures(*drawn);
    else
      section.html += "<p class=\"notes\">No pictures: the page would be too large.</p>\n";
  }
  sections.push_back(std::move(section));
}

struct Checked {
  std::vector<Answer> answers;
  std::vector<show::Section> sections;
  std::vector<Error> unread;  // files and plans that are none; the others are judged
};

void check_file(const std::string& path, const CheckOptions& o, Checked& out) {
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
    if (!o.html.empty()) draw_answer(*dump, *answer, out.sections);
    out.answers.push_back(std::move(*answer));
  }
}

struct Tally {
  std::int64_t valid = 0;
  std::int64_t broken = 0;
  std::int64_t not_checked = 0;
};

Tally count(const std::vector<Answer>& answers) {
  Tally t;
  for (const Answer& a : answers) {
    std::int64_t& counter = !a.not_checked.empty() ? t.not_checked
                            : a.findings.empty()   ? t.valid
                                                   : t.broken;
    ++counter;
  }
  return t;
}

std::string tally_text(const Tally& t) {
  return say(t.valid, " valid, ", t.broken, " broken, ", t.not_checked, " not checked");
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

std::string text_of(const std::vector<Answer>& answers) {
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
    if (!a.culprit.empty()) out += "  at fault: " + a.culprit + ": " + a.diagnosis + "\n";
  }
  return out + tally_text(count(answers)) + "\n";
}

std::string json_of(const std::vector<Answer>& answers) {
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
    if (!a.notes.empty()) plans.back()["notes"] = a.notes;
    if (!a.not_checked.empty()) plans.back()["reason"] = a.not_checked;
  }
  const nlohmann::ordered_json out = {{"format", "mla-testbed check 1"}, {"plans", plans}};
  return out.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

ExitCode check(const CheckOptions& o) {
  Checked checked;
  std::vector<files::Input> inputs;
  for (const std::string& path : o.files) inputs.push_back({"check", path});
  if (const Status bad = files::check_outputs({files::printed(o.json), {"--html", o.html}}, inputs))
    return complain("check", *bad);
  for (const std::string& path : o.files) check_file(path, o, checked);
  const std::vector<Answer>& answers = checked.answers;
  const Tally t = count(answers);
  ExitCode code = ExitCode::held;
  if (t.not_checked > 0) code = ExitCode::skipped;
  if (answers.empty()) code = ExitCode::inconclusive;
  for (const Error& bad : checked.unread) code = complain("check", bad);
  if (t.broken > 0) code = ExitCode::failed;
  if (answers.empty() && !checked.unread.empty()) return code;
  Publisher out("check");
  out.file(o.html, [&] { return show::html_page(tally_text(t), checked.sections); });
  return out.finish(o.json ? json_of(answers) : text_of(answers), code);
}

}  // namespace

void add_check(Command& app, ExitCode& exit) {
  auto o = std::make_shared<CheckOptions>();
  Command c = app.add_subcommand("check", "Check plan buffers in JSON files");
  c.add_option("files", o->files, "JSON files and bundles; - is stdin").required();
  c.add_flag("--json", o->json, "Print one JSON object");
  c.add_option("--html", o->html, "Also write a page with pictures of the plans to this file")
      .type_name("FILE");
  c.footer(kCheckFooter);
  c.callback([o, &exit] { exit = check(*o); });
}

}  // namespace mla::cli
