// `mla-testbed plan`: what was decided about a case, and its plan; or plans for a JSON document.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/builder/decode_builder.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/plan_json.hpp"
#include "properties/cli/plan_table.hpp"
#include "properties/cli/planner_call.hpp"
#include "properties/cli/terminal.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using Json = nlohmann::ordered_json;

struct Options {
  std::string line;   // empty: plan a document
  std::string input;  // empty: plan a case
  std::string output = "-";
  std::string planner = "auto";
  bool json = false;
  bool as_aiter = false;
};

constexpr const char* kFooter = R"(
With a case: a table of every decision with its reason, the sizes, the works of each slot and the
merge lists; with --json an object that `mla-testbed check` reads. A case that is refused is exit 10.
With --input: a JSON document with a list `cases` (docs/reproduce.md) gives one with `results`.
--as-aiter repeats the original planner where it is broken; without it such calls are refused.

Examples:
  mla-testbed plan 'mla1:16q4s1k_3q1s513;heads=8;block=16'
  mla-testbed plan 'mla1:2q1s8k;cu=80' --json | mla-testbed check -
  mla-testbed plan --input calls.json --output plans.json
  mla-testbed plan --input calls.json --output - --planner serial --as-aiter)";

// A case with everything that stands behind its metadata; it stays where it is built.
struct Built {
  Case spec;
  Batch batch;
  DecodeBuffers buffers;
};

Result<DecodeMetadata> build(const Options& o, Built& built) {
  auto c = parse_case(o.line);
  if (!c) return c.error();
  built.spec = std::move(*c);
  auto batch = make_batch(built.spec);
  if (!batch) return batch.error();
  built.batch = std::move(*batch);
  const auto shape = resolve_shape(built.spec, built.batch);
  if (!shape) return shape.error();
  built.buffers = make_decode_buffers(built.spec, built.batch, *shape);
  const DecodeBuilderOptions options{
      .max_requests = 0,
      .fill_tail = false,
      .fidelity = o.as_aiter ? plan::Fidelity::as_aiter : plan::Fidelity::safe};
  return DecodeMetadataBuilder(options).build(built.batch, *shape, built.buffers);
}

Json decisions_json(const ResolvedShape& s) {
  Json out = {{"route", name(s.route)},
              {"route_reason", s.route_reason},
              {"kernel", s.kernel.label},
              {"kernel_masks", s.kernel.masks},
              {"kernel_returns_lse", s.kernel.lse},
              {"model_heads", s.heads.model.count()},
              {"kernel_heads", s.heads.kernel.count()},
              {"fp8", name(s.fp8)},
              {"block_size", s.block_size},
              {"notes", s.notes}};
  if (s.route == Route::split) {
    out["kv_splits"] = s.kv_splits;
    out["split_granularity"] = s.split_granularity;
    return out;
  }
  out["fold_ratio"] = s.plan.fold_ratio;
  out["plan_heads"] = s.plan.plan_heads.count();
  out["rows_per_workgroup"] = s.plan.rows_per_workgroup;
  out["query_split"] = s.plan.query_split;
  return out;
}

std::string json_text(const Case& c, const DecodeMetadata& metadata) {
  Json out = {{"format", "mla-testbed plan 1"}, {"name", format_case(c)}};
  write_planner_call(out, plan_input_of(metadata, {}));
  out["decisions"] = decisions_json(metadata.shape);
  if (metadata.plan) write_plan(out, metadata.plan->sizes(), *metadata.plan);
  return out.dump() + "\n";
}

ExitCode plan_case(const Options& o) {
  if (o.planner != "auto")
    return complain("plan", {ErrorCode::usage,
                             "--planner goes with --input; a case names its planner itself, as in "
                             "';planner=v12serial'",
                             ""});
  Built built;
  const auto metadata = build(o, built);
  if (!metadata) return complain("plan", metadata.error());
  const std::string text =
      o.json ? json_text(built.spec, *metadata)
             : decisions_text(built.spec, built.batch, *metadata) + plan_text(*metadata);
  if (const Status bad = write_file(o.output, text)) return complain("plan", *bad);
  return ExitCode::held;
}

ExitCode plan_document(const Options& o) {
  const auto document = read_file(o.input);
  if (!document) return complain("plan", document.error());
  const auto plans =
      plan_json(*document, {.force_serial = o.planner == "serial", .as_aiter = o.as_aiter});
  if (!plans) {
    Error error = plans.error();
    error.message = "'" + o.input + "': " + error.message;
    return complain("plan", error);
  }
  if (const Status bad = write_file(o.output, *plans + "\n")) return complain("plan", *bad);
  return ExitCode::held;
}

ExitCode plan(const Options& o) {
  if (o.line.empty() == o.input.empty())
    return complain("plan", {ErrorCode::usage, "give either a case or --input FILE", ""});
  return o.input.empty() ? plan_case(o) : plan_document(o);
}

}  // namespace

void add_plan(CLI::App& app, ExitCode& exit) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("plan", "Show the plan of a case, or plan a JSON document");
  c->add_option("case", o->line, "The case, one line (docs/cases.md)");
  c->add_option("--input", o->input, "Plan the calls of this JSON document; - is stdin")
      ->type_name("FILE");
  c->add_option("--output", o->output, "Write to this file; - is stdout")
      ->type_name("FILE")
      ->capture_default_str();
  c->add_option("--planner", o->planner, "auto, or serial: never the parallel kernel of v1.2")
      ->check(CLI::IsMember({"auto", "serial"}))
      ->capture_default_str();
  c->add_flag("--as-aiter", o->as_aiter, "Repeat the original, its broken places included");
  c->add_flag("--json", o->json, "Print the plan of a case as JSON");
  c->footer(kFooter);
  c->callback([o, &exit] { exit = plan(*o); });
}

}  // namespace mla::cli
