// Target about what comes from outside: captured buffers for `check`, calls for `plan --input`, and
// steps in .safetensors files for `replay`, which are executed where they are small.
#include <nlohmann/json.hpp>
#include <utility>

#include "cpu_backend/cpu_backend.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/dump/plan/plan_json.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/dump/replay/step.hpp"
#include "properties/fuzz/target.hpp"

namespace mla::prop::fuzz {
namespace {

// (row, head, key) triples that are executed.
constexpr std::int64_t kMostWork = 20000;

std::int64_t work_of(const dump::CapturedStep& step) {
  std::int64_t keys = 0;
  for (const std::int64_t n : step.metadata.kv_lens) keys += n;
  return step.metadata.rows().count() * step.spec.heads * keys;
}

std::optional<Finding> fuzz_bundle(Bytes bytes) {
  auto bundle = dump::parse_bundle(std::as_bytes(bytes), "input");
  if (!bundle) {
    if (bundle.error().message.empty())
      return Finding{"a bundle", "it is refused without a reason"};
    return std::nullopt;
  }
  const auto dumped = dump::read_dump(std::move(*bundle));
  if (!dumped) return std::nullopt;
  const auto plan = dump::check(*dumped);
  if (!plan) return std::nullopt;
  for (const auto& finding : plan->findings)
    if (finding.rule == dump::kBatchRule) return std::nullopt;
  const auto step = dump::captured_step(*dumped);
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
  const auto plans = dump::plan_json(text, {.force_serial = false, .as_aiter = false});
  if (!plans && plans.error().message.empty())
    return Finding{text, "the document is refused without a reason"};
  if (plans && !nlohmann::json::accept(*plans)) return Finding{text, "the answer is not JSON"};
  const auto dumped = dump::parse_dump(text);
  const auto answer = dumped ? dump::check(*dumped) : Result<dump::Answer>(dumped.error());
  if (!answer && answer.error().message.empty())
    return Finding{text, "the plan is refused without a reason"};
  return std::nullopt;
}

}  // namespace mla::prop::fuzz
