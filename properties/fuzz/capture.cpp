// Target about what comes from outside: captured buffers for `check`, calls for `plan --input`, and
// steps in .safetensors files for `replay`, which are executed where they are small.
#include <nlohmann/json.hpp>

#include "cpu_backend/cpu_backend.hpp"
#include "properties/capture/captured_step.hpp"
#include "properties/capture/checked_plan.hpp"
#include "properties/capture/plan_json.hpp"
#include "properties/files/parse_json.hpp"
#include "properties/fuzz/target.hpp"

namespace mla::prop::fuzz {
namespace {

// (row, head, key) triples that are executed.
constexpr std::int64_t kMostWork = 20000;

std::int64_t work_of(const cli::CapturedStep& step) {
  std::int64_t keys = 0;
  for (const std::int64_t n : step.metadata.kv_lens) keys += n;
  return step.metadata.rows().count() * step.spec.heads * keys;
}

std::optional<Finding> fuzz_bundle(Bytes bytes) {
  const auto bundle = cli::parse_bundle(std::as_bytes(bytes), "input");
  if (!bundle) {
    if (bundle.error().message.empty())
      return Finding{"a bundle", "it is refused without a reason"};
    return std::nullopt;
  }
  const auto document = cli::document_of(*bundle);
  if (!document) return std::nullopt;
  const auto plan = cli::check_plan_object(*document, 0);
  if (!plan) return std::nullopt;
  for (const auto& finding : plan->findings)
    if (finding.rule == cli::kBatchRule) return std::nullopt;
  const auto step = cli::read_captured_step(*bundle);
  if (!step) {
    if (step.error().message.empty()) return Finding{"a bundle", "it is refused without a reason"};
    return std::nullopt;
  }
  if (work_of(**step) > kMostWork) return std::nullopt;
  const auto result =
      cpu::make_cpu_backend()->run({(*step)->metadata, (*step)->tensors}, {.threads = 1});
  if (result && !result->faults.empty() && plan->findings.empty() && !plan->not_checked.empty())
    return Finding{"a bundle", "a step without a plan has a fault: " + result->faults.front().what};
  return std::nullopt;
}

}  // namespace

std::optional<Finding> fuzz_capture(Bytes bytes) {
  if (!bytes.empty() && bytes.front() != '{' && bytes.front() != '[') return fuzz_bundle(bytes);
  const std::string text(bytes.begin(), bytes.end());
  const auto document = files::parse_json(text);
  const auto plans = cli::plan_json(text, {.force_serial = false, .as_aiter = false});
  if (!plans && plans.error().message.empty())
    return Finding{text, "the document is refused without a reason"};
  if (plans && !nlohmann::json::accept(*plans)) return Finding{text, "the answer is not JSON"};
  if (!document || !document->is_object()) return std::nullopt;
  const auto answer = cli::check_plan_object(*document, 0);
  if (!answer && answer.error().message.empty())
    return Finding{text, "the plan is refused without a reason"};
  return std::nullopt;
}

}  // namespace mla::prop::fuzz
