// Judging a case through the C interface.
#include "core/say.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "properties/app/backends.hpp"
#include "properties/app/judge_case.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/selection.hpp"
#include "properties/c_api/texts.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;
using Json = nlohmann::ordered_json;

struct Asked {
  const char *line, *properties, *backend, *device, *aiter_hsa, *plant;
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

std::string_view verdict_of(const app::JudgedCase& judged) {
  switch (judged.exit_code()) {
    case prop::ExitCode::failed:
      return "fail";
    case prop::ExitCode::inconclusive:
      return "inconclusive";
    case prop::ExitCode::held:
      return "pass";
    default:
      return "skip";
  }
}

std::string refusal(const Case& c, const prop::Judgement& judgement) {
  if (c.kind() != StepKind::decode) return "see the properties";
  const Error& why = *judgement.why_refused;
  return why.message + (why.bug.empty() ? "" : " (" + why.bug + ")");
}

Json json_of(const Case& c, const std::vector<const prop::Property*>& properties,
             const app::JudgedCase& judged) {
  const prop::Judgement& judgement = judged.judgement;
  Json list = Json::array();
  for (std::size_t p = 0; p < properties.size(); ++p) {
    const prop::Outcome& outcome = judgement.outcomes[p];
    list.push_back({{"id", properties[p]->id},
                    {"name", properties[p]->name},
                    {"verdict", name(outcome.verdict)},
                    {"message", outcome.message},
                    {"details", outcome.details}});
  }
  return {{"case", format_case(c)},
          {"verdict", verdict_of(judged)},
          {"refused", judgement.refused ? refusal(c, judgement) : ""},
          {"properties", list},
          {"launches", judgement.launches().lines()},
          {"failure_block", judged.failure ? prop::failure_block(*judged.failure) : ""}};
}

MaybeFailure judge_case(const Asked& asked, const char** out) {
  for (const char* text :
       {asked.properties, asked.backend, asked.device, asked.aiter_hsa, asked.plant})
    if (text == nullptr) return usage("mla_case_judge: a text is NULL; expected \"\" for none");
  const auto c = case_of(asked.line);
  if (!c) return failure_of(c.error());
  const app::DeviceChoice device = {.device = asked.device, .aiter_hsa = asked.aiter_hsa};
  auto backends = app::make_backends(asked.backend, device);
  if (!backends) return not_there(backends.error());
  if (backends->size() != 1)
    return usage(say("backend is '", asked.backend, "'; expected one backend"));
  const app::NamedBackend& named = backends->front();
  const auto selected = app::select_properties(words_of(asked.properties));
  if (const auto* none = std::get_if<app::Unselected>(&selected)) return usage(none->message);
  const auto& properties = *std::get_if<0>(&selected);
  std::unique_ptr<prop::Interposer> defect;
  std::string options;
  if (*asked.plant != '\0') {
    const auto plant = app::select_plant(asked.plant);
    if (const auto* none = std::get_if<app::Unselected>(&plant)) return usage(none->message);
    defect = (*std::get_if<0>(&plant))->make();
    options = app::plant_option(asked.plant);
  }
  if (const MaybeError bad = app::check_memory(*c, {properties, {}}, app::available_limit()))
    return failure_of(*bad);
  Json json = json_of(
      *c, properties,
      app::judge_case(
          {.spec = *c, .properties = properties, .defect = defect.get(), .options = options},
          named));
  json["backend"] = named.name;
  return answer(out, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace
}  // namespace mla::c_api

extern "C" int mla_case_judge(const char* line, const char* properties, const char* backend,
                              const char* device, const char* aiter_hsa, const char* plant,
                              const char** json) {
  return mla::c_api::at_border([&] {
    return mla::c_api::judge_case({line, properties, backend, device, aiter_hsa, plant}, json);
  });
}
