// `mla-testbed check`: whether plan buffers in files are valid plans for their batches.
#include <memory>

#include "properties/app/check.hpp"
#include "properties/app/tree_backend.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/files/output_file.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

struct CheckOptions {
  std::vector<std::string> files;
  bool json = false;
  std::string html;  // empty: none
  std::string tree;  // of the AITER whose planner is asked too; empty: none
};

constexpr const char* kCheckFooter = R"(
Reads what `mla-testbed plan --json` prints, a golden vector, or a dump of a running engine in the
same keys (docs/reference/bundles.md): one object, a list of objects, an object with a list `cases`,
or a bundle: a folder with manifest.json and one .npy file for each buffer.
Prints the violated invariants as sentences, the first 8 of each rule (--json: all), and who is at
fault: the planner, if it makes this plan from this call, or the builder, if it asked for another
plan or kept an old one. A note is no violation: it names for example a defect of the kernel. With
--aiter a note says whether the planner of that AITER makes the plan, or where it differs.
Exit: 0 every plan is valid, 1 a plan is broken, 4 there was no plan, 10 a plan is of a kind that
cannot be checked (sparse, or a step without one). A file or plan that cannot be read is named on
stderr, and the others are judged: 1 if one of them is broken, otherwise 2 or 3.

Examples:
  mla-testbed check dump.json
  mla-testbed check fixtures/bundles/heads --html heads.html
  mla-testbed plan 'mla1:2q1s8k;cu=80' --json | mla-testbed check -
  mla-testbed check --json fixtures/golden/*.json)";

ExitCode check(const CheckOptions& o) {
  std::vector<files::Input> inputs;
  for (const std::string& path : o.files) inputs.push_back({"check", path});
  if (const MaybeError bad =
          files::check_outputs({files::printed(o.json), {"--html", o.html}}, inputs))
    return complain("check", *bad);
  app::TreePlanners planners(o.tree);
  const app::Checked checked = app::check_files(
      o.files, !o.html.empty(),
      [&](const dump::Dump& dump, dump::Answer& answer) { return planners.ask(dump, answer); });
  const std::vector<dump::Answer>& answers = checked.answers;
  const app::Tally t = app::tally_of(answers);
  ExitCode code = ExitCode::held;
  if (t.not_checked > 0) code = ExitCode::skipped;
  if (answers.empty()) code = ExitCode::inconclusive;
  for (const Error& bad : checked.unread) code = complain("check", bad);
  if (t.broken > 0) code = ExitCode::failed;
  if (answers.empty() && !checked.unread.empty()) return code;
  Publisher out("check");
  out.page(o.html, [&] { return app::check_page(checked); });
  return out.finish(o.json ? app::check_json(answers) : app::check_text(answers), code);
}

}  // namespace

void add_check(Command& app, ExitCode& exit) {
  auto o = std::make_shared<CheckOptions>();
  Command c = app.add_subcommand("check", "Check plan buffers in JSON files");
  c.add_option("files", o->files, "JSON files and bundles; - is stdin").required();
  c.add_flag("--json", o->json, "Print one JSON object");
  c.add_option("--html", o->html, "Also write a page with pictures of the plans to this file")
      .type_name("FILE");
  add_tree_option(c, o->tree);
  c.footer(kCheckFooter);
  c.callback([o, &exit] { exit = check(*o); });
}

}  // namespace mla::cli
