// Target about documents from outside: captured buffers for `check`, calls for `plan --input`.
#include <nlohmann/json.hpp>

#include "properties/cli/checked_plan.hpp"
#include "properties/cli/plan_json.hpp"
#include "properties/fuzz/target.hpp"

namespace mla::prop::fuzz {

std::optional<Finding> fuzz_capture(Bytes bytes) {
  const std::string text(bytes.begin(), bytes.end());
  const auto document = nlohmann::json::parse(text, nullptr, false);
  const auto plans = cli::plan_json(text, {.force_serial = false, .as_aiter = false});
  if (!plans && plans.error().message.empty())
    return Finding{text, "the document is refused without a reason"};
  if (plans && !nlohmann::json::accept(*plans)) return Finding{text, "the answer is no JSON"};
  if (!document.is_object()) return std::nullopt;
  const auto answer = cli::check_plan_object(document, 0);
  if (!answer && answer.error().message.empty())
    return Finding{text, "the plan is refused without a reason"};
  return std::nullopt;
}

}  // namespace mla::prop::fuzz
