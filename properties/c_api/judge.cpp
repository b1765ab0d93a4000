// Judging a case through the C interface.
#include "properties/judge/judge.hpp"
#include "core/say.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "properties/app/backends.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/selection.hpp"
#include "properties/c_api/texts.hpp"
#include "properties/judge/runner.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;
using Json = nlohmann::ordered_json;
using prop::Verdict;

struct Asked {
  const char *line, *properties, *backend, *device, *aiter_hsa, *plant;
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

// As the exit code of `mla-testbed replay`: nothing passes without having run.
std::string_view verdict_of(const prop::Judgement& judgement) {
  const auto has = [&](Verdict v) {
    return std::any_of(judgement.outcomes.begin(), judgement.outcomes.end(),
                       [v](const prop::Outcome& o) { return o.verdict == v; });
  };
  if (has(Verdict::fail)) return "fail";
  if (has(Verdict::inconclusive)) return "inconclusive";
  return judgement.refused || !has(Verdict::pass) ? "skip" : "pass";
}

std::string refusal(const Case& c, const Backend& backend, const prop::Interposer* defect) {
  if (c.kind() != StepKind::decode) return "see the properties";
  prop::Subject subject(c, backend, defect);
  const Error& why = subject.metadata().error();
  return why.message + (why.bug.empty() ? "" : " (" + why.bug + ")");
}

std::string failure_block(const Case& c, const std::vector<const prop::Property*>& properties,
                          const prop::Judgement& judgement, const std::string& options) {
  prop::Failure failure;
  for (std::size_t p = 0; p < properties.size(); ++p) {
    if (judgement.outcomes[p].verdict != Verdict::fail) continue;
    if (failure.property != nullptr) {
      failure.also.push_back({properties[p], judgement.outcomes[p]});
      continue;
    }
    failure.property = properties[p];
    failure.outcome = judgement.outcomes[p];
  }
  if (failure.property == nullptr) return {};
  failure.smallest = failure.original = c;
  failure.replay_options = options;
  return prop::failure_block(failure);
}

Json json_of(const Case& c, const std::vector<const prop::Property*>& properties,
             const prop::Judgement& judgement) {
  Json list = Json::array();
  for (std::size_t p = 0; p < properties.size(); ++p) {
    const prop::Outcome& outcome = judgement.outcomes[p];
    list.push_back({{"id", properties[p]->id},
                    {"name", properties[p]->name},
                    {"verdict", name(outcome.verdict)},
                    {"message", outcome.message},
                    {"details", outcome.details}});
  }
  return {
      {"case", format_case(c)}, {"verdict", verdict_of(judgement)},         {"refused", ""},
      {"properties", list},     {"launches", judgement.launches().lines()}, {"failure_block", ""}};
}

MaybeFailure judge_case(const Asked& asked, const char** out) {
  for (const char* text :
       {asked.properties, asked.backend, asked.device, asked.aiter_hsa, asked.plant})
    if (text == nullptr) return usage("mla_case_judge: a text is NULL; expected \"\" for none");
  const auto c = case_of(asked.line);
  if (!c) return failure_of(c.error());
  const app::DeviceChoice device = {.device = asked.device, .aiter_hsa = asked.aiter_hsa};
  auto backends = app::make_backends(asked.backend, device);
  if (!backends) return failure_of(backends.error());
  if (backends->size() != 1)
    return usage(say("backend is '", asked.backend, "'; expected one backend"));
  const app::NamedBackend& named = backends->front();
  const auto selected = app::select_properties(words_of(asked.properties));
  if (const auto* none = std::get_if<app::Unselected>(&selected)) return usage(none->message);
  const auto& properties = *std::get_if<0>(&selected);
  std::unique_ptr<prop::Interposer> defect;
  std::string options = named.replay_options;
  if (*asked.plant != '\0') {
    const auto plant = app::select_plant(asked.plant);
    if (const auto* none = std::get_if<app::Unselected>(&plant)) return usage(none->message);
    defect = (*std::get_if<0>(&plant))->make();
    options += app::plant_option(asked.plant);
  }
  if (const Status bad = app::check_memory(*c, {properties, {}}, app::available_limit()))
    return failure_of(*bad);
  const prop::Judgement judgement = prop::judge(*c, properties, *named.backend, defect.get());
  Json json = json_of(*c, properties, judgement);
  json["backend"] = named.name;
  if (judgement.refused) json["refused"] = refusal(*c, *named.backend, defect.get());
  json["failure_block"] = failure_block(*c, properties, judgement, options);
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
