#include "properties/app/replay_bundle.hpp"

#include <algorithm>
#include <limits>

#include "core/say.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/app/explain_result.hpp"
#include "properties/app/failure_page.hpp"
#include "properties/app/failure_pictures.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/dump/replay/live_values.hpp"
#include "properties/dump/replay/step.hpp"
#include "properties/files/printable.hpp"
#include "properties/judge/judge.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::app {
namespace {

using prop::ExitCode;
using prop::Outcome;
using prop::Verdict;

std::string lines_of(const std::string& who, const Outcome& outcome) {
  std::string text = say(who, ": ", prop::name(outcome.verdict));
  if (!outcome.message.empty()) text += ", " + outcome.message;
  text += "\n";
  for (const std::string& detail : outcome.details) text += "  " + detail + "\n";
  return text;
}

// A captured step with what its results are held to.
struct Trial {
  const dump::CapturedStep& step;
  dump::ValueFindings values;
  cpu::ReferenceResult reference;

  explicit Trial(const dump::CapturedStep& captured)
      : step(captured),
        values(dump::check_live_values(captured)),
        reference(cpu::dense_reference({.batch = captured.batch,
                                        .tensors = captured.tensors,
                                        .arch = captured.spec.arch,
                                        .dtype = captured.spec.dtype,
                                        .model_heads = captured.spec.heads,
                                        .causal = captured.spec.causal})) {
    spare(reference.out, reference.lse);
    spare(reference.out_bound, reference.lse_bound);
  }

  // Rows that NaN or infinity reaches hold 0 in the result and in the reference: they are not
  // judged.
  template <class Out, class Lse>
  void spare(Out& out, Lse& lse) const {
    const std::int64_t heads = step.spec.heads;
    const std::int64_t elements = heads * step.spec.widths().value().count();
    for (std::int64_t row = 0; row < std::ssize(values.rows); ++row) {
      if (!values.rows[static_cast<std::size_t>(row)]) continue;
      std::fill_n(out.begin() + row * elements, elements, 0);
      if (!lse.empty()) std::fill_n(lse.begin() + row * heads, heads, 0);
    }
  }

  // Of the result that was judged wrong last.
  mutable show::ErrorMap errors;

  [[nodiscard]] Outcome judge(DecodeResult result, const cpu::ReferenceResult& wanted) const {
    if (values.affected() == step.batch.rows().count())
      return prop::skipped("a value that is not finite reaches every row");
    spare(result.out, result.lse);
    Outcome outcome = prop::compare({.result = result,
                                     .reference = wanted,
                                     .metadata = step.metadata,
                                     .requests = step.batch.requests,
                                     .heads = step.spec.heads});
    if (outcome.verdict == Verdict::fail)
      errors = error_map_of(
          {result.out, result.lse, wanted, step.spec.heads, step.spec.widths().value().count()});
    return outcome;
  }
};

Outcome judge_backend(const Trial& trial, const Backend& backend, Launches& launched) {
  const dump::CapturedStep& step = trial.step;
  if (const Support support = backend.supports(step.metadata.shape); !support.ok)
    return prop::skipped(support.reason);
  auto result = backend.run({step.metadata, step.tensors}, {.record_stages = true});
  if (!result) return prop::failed(result.error().message);
  launched = result->launches;
  return trial.judge(std::move(*result), trial.reference);
}

// Kernels leave rows of requests without keys alone, a graph's padding among them. The backends'
// launchers write 0 and -inf there, and an engine need not.
void spare_keyless(const DecodeMetadata& md, std::int64_t heads, DecodeResult& result) {
  const std::int64_t value = md.shape.widths.value().count();
  for (const RowRange& rows : md.keyless_rows) {
    const auto begin = rows.begin * heads;
    const auto count = (rows.end - rows.begin) * heads;
    if (!result.out.empty()) std::fill_n(result.out.begin() + begin * value, count * value, 0);
    if (!result.lse.empty())
      std::fill_n(result.lse.begin() + begin, count, -std::numeric_limits<float>::infinity());
  }
}

Outcome judge_engine(const Trial& trial) {
  DecodeResult result;
  result.out = trial.step.out;
  result.lse = trial.step.lse;
  spare_keyless(trial.step.metadata, trial.step.spec.heads, result);
  cpu::ReferenceResult wanted = trial.reference;
  if (result.lse.empty()) wanted.lse.clear();
  if (result.out.empty()) {
    if (result.lse.empty()) return prop::skipped("neither 'out' nor 'lse' was dumped");
    result.out.resize(wanted.out.size());
    std::ranges::fill(wanted.out_bound, cpu::kNotEvaluated);
  }
  Outcome outcome = trial.judge(result, wanted);
  const bool whole = outcome.verdict == Verdict::fail && trial.values.sentences.empty();
  if (const auto scale = whole ? explaining_scale(trial.step, result) : std::nullopt)
    outcome.details.push_back("explained by a scale: " + *scale);
  return outcome;
}

// Whose fault it is that the engine's result is wrong; empty without one.
std::string fault_of(const dump::Answer& plan, const Trial& trial, bool backends_held,
                     const Outcome& engine) {
  if (!plan.culprit.empty()) return plan.culprit + ": " + plan.diagnosis;
  if (engine.verdict == Verdict::fail && backends_held)
    return "the kernel, or what wrote the dump: the same lists, plan and tensors give the right "
           "result";
  if (engine.verdict != Verdict::fail && trial.values.at_ends)
    return "the input: the last keys of a request are not finite. Either what wrote the keys is "
           "wrong, or seqlens_kv_indptr and kv_last_page_lens count keys that were never written";
  if (engine.verdict != Verdict::fail && !trial.values.sentences.empty())
    return "the input: what computed Q, or what wrote the keys, gave values that are not finite";
  return {};
}

// What was found in Q and in the keys, and which rows are left out because of it.
std::string input_lines(const Trial& trial) {
  std::string text;
  for (const std::string& what : trial.values.sentences) text += "input: " + what + "\n";
  if (!text.empty())
    text += say("not judged: ", trial.values.affected(), " of ", trial.step.batch.rows().count(),
                " rows, which such values reach\n");
  return text;
}

std::string page_of(const std::string& name, const Trial& trial, const std::string& text) {
  show::Section section{.heading = "", .html = block_html(text), .pictures = {}};
  section.pictures = show::error_pictures(trial.errors, "the wrong result");
  if (trial.step.metadata.plan) {
    const show::DrawnPlan drawn = draw_metadata(trial.step.metadata, trial.errors);
    section.html += show::findings_html(drawn);
    for (show::Picture& p : show::all_pictures(drawn)) section.pictures.push_back(std::move(p));
  }
  return show::html_page("mla-testbed replay: " + name, {section});
}

}  // namespace

Result<BundleReplay> replay_bundle(const std::string& path,
                                   const std::vector<NamedBackend>& backends, bool with_page) {
  auto bundle = dump::read_bundle(path);
  if (!bundle) return bundle.error();
  const auto refuse = [&path](Error error) {
    error.message = "'" + path + "': " + error.message;
    return error;
  };
  const auto dumped = dump::read_dump(std::move(*bundle));
  if (!dumped) return refuse(dumped.error());
  const auto plan = dump::check(*dumped);
  if (!plan) return refuse(plan.error());
  std::string text = "bundle " + files::printable(plan->name) + "\n";
  for (const std::string& note : plan->notes) text += "note: " + note + "\n";
  for (const dump::Finding& f : plan->findings) {
    text += "plan: " + f.rule + ": " + f.what + "\n";
    if (f.rule == dump::kBatchRule)
      return BundleReplay{text + "at fault: " + plan->culprit + ": " + plan->diagnosis + "\n",
                          ExitCode::failed};
  }
  const auto step = dump::captured_step(*dumped);
  if (!step && plan->findings.empty()) return refuse(step.error());
  if (!step)
    return BundleReplay{say(text, "not executed: ", step.error().message,
                            "\nat fault: ", plan->culprit, ": ", plan->diagnosis, "\n"),
                        ExitCode::failed};
  const Trial trial(**step);
  text += "case " + format_case((*step)->spec) + "\n";
  const ResolvedShape& shape = (*step)->metadata.shape;
  if (shape.max_qo_len > dump::longest_request((*step)->lists.qo_indptr))
    text += say("launched with max_seqlen_q ", shape.max_qo_len, "\n");
  text += input_lines(trial);
  std::int64_t held = 0;
  bool failed = !plan->findings.empty();
  for (const NamedBackend& b : backends) {
    Launches launched;
    const Outcome outcome = prop::only_what_ran(judge_backend(trial, *b.backend, launched),
                                                *b.backend, StepKind::decode, launched);
    text += lines_of("backend " + b.name, outcome);
    for (const std::string& line : launched.lines()) text += "  launched: " + line + "\n";
    held += outcome.verdict == Verdict::pass ? 1 : 0;
    failed = failed || outcome.verdict == Verdict::fail;
  }
  const bool backends_held = held > 0 && !failed;
  const Outcome engine = judge_engine(trial);
  text += lines_of("the engine's result", engine);
  failed = failed || engine.verdict == Verdict::fail || !trial.values.sentences.empty();
  if (const std::string fault = fault_of(*plan, trial, backends_held, engine); !fault.empty())
    text += "at fault: " + fault + "\n";
  BundleReplay out{text, failed      ? ExitCode::failed
                         : held == 0 ? ExitCode::skipped
                                     : ExitCode::held};
  if (with_page) out.page = page_of(plan->name, trial, text);
  return out;
}

}  // namespace mla::app
