#include "properties/cli/replay_bundle.hpp"

#include "properties/cli/captured_step.hpp"
#include "properties/cli/checked_plan.hpp"
#include "properties/cli/command.hpp"
#include "properties/compare.hpp"
#include "properties/judge.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using prop::Outcome;
using prop::Verdict;

std::string lines_of(const std::string& who, const Outcome& outcome) {
  std::string text = who + ": " + std::string(prop::name(outcome.verdict));
  if (!outcome.message.empty()) text += ", " + outcome.message;
  text += "\n";
  for (const std::string& detail : outcome.details) text += "  " + detail + "\n";
  return text;
}

cpu::ReferenceResult reference_of(const CapturedStep& step) {
  return cpu::dense_reference({.batch = step.batch,
                               .tensors = step.tensors,
                               .arch = step.spec.arch,
                               .dtype = step.spec.dtype,
                               .model_heads = step.spec.heads,
                               .causal = step.spec.causal});
}

Outcome judge_backend(const CapturedStep& step, const cpu::ReferenceResult& reference,
                      const Backend& backend, Launches& launched) {
  if (const Support support = backend.supports(step.metadata.shape); !support.ok)
    return prop::skipped(support.reason);
  const auto result = backend.run({step.metadata, step.tensors}, {.record_footprint = true});
  if (!result) return prop::failed(result.error().message);
  launched = result->launches;
  return prop::compare({.result = *result,
                        .reference = reference,
                        .metadata = step.metadata,
                        .requests = step.batch.requests,
                        .heads = step.spec.heads});
}

Outcome judge_engine(const CapturedStep& step, const cpu::ReferenceResult& reference) {
  if (step.out.empty()) return prop::skipped("'out' was not dumped");
  DecodeResult result;
  result.out = step.out;
  result.lse = step.lse;
  cpu::ReferenceResult wanted = reference;
  if (step.lse.empty()) wanted.lse.clear();
  return prop::compare({.result = result,
                        .reference = wanted,
                        .metadata = step.metadata,
                        .requests = step.batch.requests,
                        .heads = step.spec.heads});
}

// Whose fault it is that the engine's result is wrong; empty without one.
std::string fault_of(const PlanAnswer& plan, bool backends_held, const Outcome& engine) {
  if (!plan.culprit.empty()) return plan.culprit + ": " + plan.diagnosis;
  if (engine.verdict != Verdict::fail) return {};
  if (backends_held)
    return "the kernel, or what wrote the dump: the same lists, plan and tensors give the right "
           "result";
  return {};
}

}  // namespace

ExitCode replay_bundle(const std::string& path, const std::vector<NamedBackend>& backends) {
  const auto bundle = read_bundle(path);
  if (!bundle) return complain("replay", bundle.error());
  const auto document = document_of(*bundle);
  if (!document) return complain("replay", document.error());
  const auto plan = check_plan_object(*document, 0);
  if (!plan) return complain("replay", plan.error());
  std::string text = "bundle " + plan->name + "\n";
  for (const PlanFinding& f : plan->findings) {
    text += "plan: " + f.rule + ": " + f.what + "\n";
    if (f.rule == kBatchRule)
      return finish("replay", text + "at fault: " + plan->culprit + ": " + plan->diagnosis + "\n",
                    ExitCode::failed);
  }
  const auto step = read_captured_step(*bundle);
  if (!step) return complain("replay", step.error());
  const cpu::ReferenceResult reference = reference_of(**step);
  text += "case " + format_case((*step)->spec) + "\n";
  std::int64_t held = 0;
  bool failed = !plan->findings.empty();
  for (const NamedBackend& b : backends) {
    Launches launched;
    const Outcome outcome =
        prop::only_what_ran(judge_backend(**step, reference, *b.backend, launched), *b.backend,
                            StepKind::decode, launched);
    text += lines_of("backend " + b.name, outcome);
    for (const std::string& line : launched.lines()) text += "  launched: " + line + "\n";
    held += outcome.verdict == Verdict::pass ? 1 : 0;
    failed = failed || outcome.verdict == Verdict::fail;
  }
  const bool backends_held = held > 0 && !failed;
  const Outcome engine = judge_engine(**step, reference);
  text += lines_of("the engine's result", engine);
  failed = failed || engine.verdict == Verdict::fail;
  if (const std::string fault = fault_of(*plan, backends_held, engine); !fault.empty())
    text += "at fault: " + fault + "\n";
  return finish("replay", text,
                failed      ? ExitCode::failed
                : held == 0 ? ExitCode::skipped
                            : ExitCode::held);
}

}  // namespace mla::cli
