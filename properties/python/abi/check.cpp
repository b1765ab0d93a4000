// The plan check through the C interface.
#include <nlohmann/json.hpp>

#include "properties/capture/checked_plan.hpp"
#include "properties/capture/refused_plan.hpp"
#include "properties/files/parse_json.hpp"
#include "properties/python/abi/texts.hpp"

namespace mla::abi {
namespace {

using Json = nlohmann::ordered_json;

std::optional<Failure> check_plan(const char* document, const char** out) {
  if (document == nullptr) return usage("the document is NULL");
  const auto parsed = files::parse_json(document);
  if (!parsed) return usage("the document " + parsed.error().message);
  if (!parsed->is_object()) return usage("the document is no JSON object");
  const auto found = cli::check_plan_object(*parsed, 0);
  if (!found) return failure_of(found.error());
  Json violations = Json::array();
  for (const cli::PlanFinding& f : found->findings)
    violations.push_back({{"rule", f.rule}, {"what", f.what}, {"work", f.work}});
  const Status refused = cli::why_refused(*found);
  const Json json = {{"name", found->name},
                     {"checked", found->not_checked.empty()},
                     {"reason", found->not_checked},
                     {"violations", violations},
                     {"notes", found->notes},
                     {"at_fault", found->culprit},
                     {"diagnosis", found->diagnosis},
                     {"refusal", refused ? refused->message : ""},
                     {"refusal_status", refused ? failure_of(*refused).status : MLA_OK},
                     {"bug", refused ? refused->bug : ""}};
  return answer(out, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace
}  // namespace mla::abi

extern "C" int mla_check_plan(const char* document, const char** json) {
  return mla::abi::at_border([&] { return mla::abi::check_plan(document, json); });
}
