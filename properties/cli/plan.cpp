// `mla-testbed plan`: what was decided about a case, and its plan; or plans for a JSON document.
#include <memory>

#include "core/say.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/app/capture_case.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/planned_step.hpp"
#include "properties/app/tree_backend.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/dump/plan/plan_json.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

struct PlanOptions {
  std::string line;   // empty: plan a document
  std::string input;  // empty: plan a case
  std::string output = "-";
  std::string planner = "auto";
  std::string bundle;  // empty: none
  std::string tree;    // of the AITER that plans; empty: the core
  bool tensors = false;
  bool json = false;
  bool as_aiter = false;
};

constexpr const char* kPlanFooter = R"(
With a case, prints every decision with its reason, the sizes, the works of each slot and the merge
lists. With --json it prints an object that `mla-testbed check` reads. A prefill step also has its
path and chunks, an FA step its decodes, extends and prefills, a sequence each of its steps. The
exit code is 10 if the case is refused.
With --input, reads a JSON document with a list `cases` (docs/reference/bundles.md) and writes one
with a list `results`. A call that is refused has an `error` there, and the exit code is 0.
--as-aiter repeats the original planner where it is broken; without it such calls, and those whose
plan `check` would call broken, are refused. With a case it is for decode steps.

Examples:
  mla-testbed plan 'mla1:16q4s1k_3q1s513;heads=8;block=16'
  mla-testbed plan 'mla1:2q1s8k;cu=80' --json | mla-testbed check -
  mla-testbed plan 'mla1:2q300s900;arch=gfx950;dtype=bf16/fp8;kind=prefill;workspace=512'
  mla-testbed plan --input calls.json --output plans.json
  mla-testbed plan --input calls.json --output - --planner serial --as-aiter)";

// That of --aiter; null without it.
Result<std::unique_ptr<plan::StepPlanner>> planner_of(const PlanOptions& o, const Case& c) {
  if (o.tree.empty()) return std::unique_ptr<plan::StepPlanner>();
  const auto refused = [&o](const std::string& why) {
    return Error{ErrorCode::usage, say("--aiter ", o.tree, " ", why)};
  };
  if (c.kind() == StepKind::fa)
    return refused("plans decode and prefill steps, not those of kind fa");
  if (o.as_aiter) return refused("is AITER itself: leave out --as-aiter");
  if (o.tensors) return refused("plans and does not execute: leave out --tensors");
  return app::make_tree_planner(o.tree, c.arch);
}

// What --bundle writes of the steps of a case.
Result<dump::Bundle> bundle_for(const PlanOptions& o, const Case& c,
                                const std::vector<std::string>& documents) {
  if (documents.size() > 1)
    return Error{ErrorCode::usage, "a bundle holds one step, not a sequence"};
  if (c.kind() != StepKind::decode)
    return Error{ErrorCode::unsupported, say("--bundle writes decode steps, not a step of kind ",
                                             name(c.kind()), "; --json prints its plan")};
  const auto backend = cpu::make_cpu_backend();
  return o.tensors ? app::capture_case(c, *backend, prop::Interposer::none())
                   : Result<dump::Bundle>(dump::bundle_of(documents[0]));
}

// A case line has no character that JSON writes in another way.
std::string sequence_json(const Case& c, const std::vector<std::string>& documents) {
  std::string steps;
  for (const std::string& step : documents) steps += (steps.empty() ? "" : ",") + step;
  return say(R"({"format":"mla-testbed steps 1","name":")", format_case(c), R"(","steps":[)", steps,
             "]}");
}

ExitCode plan_case(const PlanOptions& o) {
  if (o.planner != "auto")
    return refuse("plan",
                  "--planner goes with --input; a case names its planner itself, as in "
                  "';planner=v12serial'");
  const auto c = parse_case(o.line);
  if (!c) return complain("plan", c.error());
  if (const MaybeError bad = app::check_list_memory(*c)) return complain("plan", *bad);
  if (o.as_aiter && c->kind() != StepKind::decode)
    return refuse("plan", say("--as-aiter goes with --input or with a case of kind decode, not ",
                              name(c->kind())));
  const auto planner = planner_of(o, *c);
  if (!planner) return complain("plan", planner.error());
  auto steps = app::plan_steps_of(*c, o.as_aiter ? plan::Fidelity::as_aiter : plan::Fidelity::safe,
                                  planner->get());
  if (!steps) return complain("plan", steps.error());
  const std::size_t count = steps->size();
  std::string text;
  std::vector<std::string> documents;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > 1) text += say(i > 0 ? "\n" : "", "step ", i, "\n");
    text += (*steps)[i].table;
    documents.push_back(std::move((*steps)[i].document));
  }
  Publisher out("plan");
  if (!o.bundle.empty()) {
    const auto bundle = bundle_for(o, *c, documents);
    if (!bundle) return complain("plan", bundle.error());
    out.lost(dump::write_bundle(*bundle, o.bundle));
  }
  if (o.json && count == 1) text = documents[0] + "\n";
  if (o.json && count > 1) text = sequence_json(*c, documents) + "\n";
  out.file(o.output, [&] { return text; });
  return out.finish("", ExitCode::held);
}

ExitCode plan_document(const PlanOptions& o) {
  if (const MaybeError bad =
          files::check_inputs_kept({{"--output", o.output}}, {{"--input", o.input}}))
    return complain("plan", *bad);
  const auto document = files::read_file(o.input);
  if (!document) return complain("plan", document.error());
  const auto plans = dump::plan_json(
      *document,
      {.force_serial = o.planner == "serial", .as_aiter = o.as_aiter, .valid_only = !o.as_aiter});
  if (!plans) {
    Error error = plans.error();
    error.message = "'" + o.input + "': " + error.message;
    return complain("plan", error);
  }
  if (const MaybeError bad = files::write_file(o.output, *plans + "\n"))
    return complain("plan", *bad);
  return ExitCode::held;
}

ExitCode plan(const PlanOptions& o) {
  const auto bad = [](const char* why) { return refuse("plan", why); };
  if (o.line.empty() == o.input.empty()) return bad("give either a case or --input FILE");
  if (!o.tree.empty() && !o.input.empty()) return bad("--aiter goes with a case, not with --input");
  if (o.tensors && o.bundle.empty())
    return bad("--tensors goes with --bundle DIR: only a bundle holds tensors");
  if (o.tensors && o.as_aiter)
    return bad(
        "--tensors executes the plan, and --as-aiter may give one that leaves its buffers: "
        "choose one of them");
  if (!o.bundle.empty() && o.line.empty())
    return bad("--bundle goes with a case: --input writes no bundle");
  if (!o.bundle.empty() && dump::is_file_of_bundle(o.output, o.bundle))
    return bad("--output and --bundle write the same file: name one outside of the bundle");
  return o.input.empty() ? plan_case(o) : plan_document(o);
}

}  // namespace

void add_plan(Command& app, ExitCode& exit) {
  auto o = std::make_shared<PlanOptions>();
  Command c = app.add_subcommand("plan", "Show the plan of a case, or plan a JSON document");
  c.add_option("case", o->line, "The case, one line (docs/reference/cases.md)");
  c.add_option("--input", o->input, "Plan the calls of this JSON document; - is stdin")
      .type_name("FILE");
  c.add_option("--output", o->output, "Write to this file; - is stdout")
      .type_name("FILE")
      .show_default();
  c.add_option("--planner", o->planner, "auto, or serial: never the parallel kernel of v1.2")
      .one_of({"auto", "serial"})
      .show_default();
  add_tree_option(c, o->tree);
  c.add_flag("--as-aiter", o->as_aiter, "Repeat the original, even where it is broken");
  c.add_option("--bundle", o->bundle, "Also write the lists and the plan of a case to this folder")
      .type_name("DIR");
  c.add_flag("--tensors", o->tensors,
             "Also write Q, cache and the CPU backend's result to the bundle");
  c.add_flag("--json", o->json, "Print the plan of a case as JSON");
  c.footer(kPlanFooter);
  c.callback([o, &exit] { exit = plan(*o); });
}

}  // namespace mla::cli
