// The plan check through the C interface.
#include <nlohmann/json.hpp>

#include "properties/c_api/texts.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/dump/read/dump.hpp"

namespace mla::c_api {
namespace {

using Json = nlohmann::ordered_json;

std::optional<Failure> check_plan(const char* document, const char** out) {
  if (document == nullptr) return usage("the document is NULL");
  const auto dumped = dump::parse_dump(document);
  if (!dumped) return failure_of(dumped.error());
  const auto found = dump::check(*dumped);
  if (!found) return failure_of(found.error());
  Json violations = Json::array();
  for (const dump::Finding& f : found->findings)
    violations.push_back({{"rule", f.rule}, {"what", f.what}, {"work", f.work}});
  const MaybeError refused = dump::why_refused(*found);
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
}  // namespace mla::c_api

extern "C" int mla_check_plan(const char* document, const char** json) {
  return mla::c_api::at_border([&] { return mla::c_api::check_plan(document, json); });
}
