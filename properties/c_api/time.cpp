// Predicted times through the C interface.
#include <nlohmann/json.hpp>

#include "properties/app/memory.hpp"
#include "properties/app/step_time.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/texts.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/dump/write/plan.hpp"

namespace mla::c_api {
namespace {

using Json = nlohmann::ordered_json;

std::optional<Failure> answer_time(const Result<app::StepTime>& time, const char** out) {
  if (!time) return failure_of(time.error());
  Json json = app::time_json(*time);
  if (time->searched) {
    Json plan;
    if (time->faster) dump::write_plan(plan, time->faster->plan.sizes(), time->faster->plan);
    json["better_plan"] = std::move(plan);
  }
  return c_api::answer(out, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::optional<Failure> time_case(const char* line, std::int64_t better, const char** out) {
  if (auto bad = check_flags({{"better", better}})) return bad;
  const auto c = case_of(line);
  if (!c) return failure_of(c.error());
  if (const MaybeError bad = app::check_list_memory(*c)) return failure_of(*bad);
  return answer_time(app::time_step(*c, {.others = false, .faster = better != 0}), out);
}

std::optional<Failure> time_plan(const char* document, std::int64_t better, const char** out) {
  if (auto bad = check_flags({{"better", better}})) return bad;
  if (document == nullptr) return usage("the document is NULL");
  const auto dumped = dump::parse_dump(document);
  if (!dumped) return failure_of(dumped.error());
  return answer_time(app::time_step(*dumped, {.others = false, .faster = better != 0}), out);
}

}  // namespace
}  // namespace mla::c_api

extern "C" int mla_case_time(const char* line, int64_t better, const char** json) {
  return mla::c_api::at_border([&] { return mla::c_api::time_case(line, better, json); });
}

extern "C" int mla_time_plan(const char* document, int64_t better, const char** json) {
  return mla::c_api::at_border([&] { return mla::c_api::time_plan(document, better, json); });
}
