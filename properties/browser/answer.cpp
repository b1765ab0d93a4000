#include "properties/browser/answer.hpp"

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/say.hpp"
#include "properties/app/build_info.hpp"
#include "properties/app/check.hpp"
#include "properties/app/list_memory.hpp"
#include "properties/app/shell_word.hpp"
#include "properties/app/shown_plan.hpp"
#include "properties/files/printable.hpp"
#include "properties/show/document.hpp"

namespace mla::browser {
namespace {

using Json = nlohmann::ordered_json;

// A page has 4 GiB, and a plan is there as lists, as JSON and as pictures.
constexpr std::int64_t kMostOfLists = std::int64_t{256} << 20U;
constexpr const char* kLimitSource = "are what this page takes; the command takes more";

std::string text_of(const Json& answer) {
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string error_text(const Error& error) {
  return text_of({{"error", files::printable_message(error.message)}});
}

std::string page_of(const show::DrawnPlan& drawn, const std::string& command) {
  return show::with_footer(show::plan_page(drawn), {command, say("mla-testbed ", app::kVersion)});
}

std::string answer_of(const app::ShownPlans& plans, std::int64_t step, const std::string& command) {
  if (step < 0 || step >= plans.count())
    return error_text(
        {ErrorCode::usage, say("step is ", step, " of ", plans.count(), ", counted from 0")});
  const auto place = static_cast<std::size_t>(step);
  const auto shown = app::shown_plan(plans, place);
  if (!shown) return error_text(shown.error());
  const dump::Answer& answer = shown->answer;
  const std::size_t findings = answer.findings.size();
  Json out = {{"name", files::printable(answer.name)},
              {"steps", plans.count()},
              {"step", step},
              {"state", "valid"},
              {"summary", "valid"}};
  if (!answer.not_checked.empty()) {
    out["state"] = "unchecked";
    out["summary"] = "not checked: " + files::printable_message(answer.not_checked);
  } else if (findings > 0) {
    out["state"] = "broken";
    out["summary"] = say(findings, findings == 1 ? " violation" : " violations");
    if (!answer.culprit.empty())
      out["summary"] = say(out["summary"].get<std::string>(),
                           "; at fault: ", files::printable_message(answer.culprit));
  }
  out["check"] = app::check_text({answer});
  out["plan"] = place < plans.tables.size() ? plans.tables[place] : std::string();
  out["page"] = shown->plan ? page_of(shown->plan->plan, command) : std::string();
  out["undrawn"] = shown->plan ? std::string() : shown->plan.error().message;
  return text_of(out);
}

Result<dump::DumpFile> dump_of(const std::string& name, const Files& files) {
  if (files.contains("manifest.json")) {
    auto bundle = dump::read_folder(name, [&files](const std::string& file) -> Result<std::string> {
      const auto found = files.find(file);
      if (found == files.end())
        return Error{ErrorCode::usage, "the folder has no file '" + file + "'"};
      return found->second;
    });
    if (!bundle) return bundle.error();
    return dump::DumpFile::of_bundle(name, std::move(*bundle));
  }
  if (files.size() != 1)
    return Error{ErrorCode::usage,
                 say("'", name, "' has ", files.size(),
                     " files and no manifest.json: give a bundle's folder, or one "
                     ".safetensors or JSON file")};
  const auto& [file, text] = *files.begin();
  if (!file.ends_with(".safetensors")) return dump::DumpFile::of_text(name, text);
  auto bundle = dump::parse_bundle(std::as_bytes(std::span(text)), name);
  if (!bundle) return bundle.error();
  return dump::DumpFile::of_bundle(name, std::move(*bundle));
}

}  // namespace

std::string answer_case(const std::string& line, std::int64_t step) {
  const auto c = parse_case(line);
  if (!c) return error_text(c.error());
  if (const MaybeError bad =
          app::check_list_memory(*c, {.bytes = kMostOfLists, .source = kLimitSource}))
    return error_text(*bad);
  const auto plans = app::plans_of_case(*c, line);
  if (!plans) return error_text(plans.error());
  return answer_of(*plans, step, "mla-testbed show " + app::shell_word(line));
}

std::string answer_files(const std::string& name, const Files& files, std::int64_t step) {
  auto file = dump_of(name, files);
  if (!file) return error_text(file.error());
  return answer_of({.file = std::move(*file)}, step, "mla-testbed show " + app::shell_word(name));
}

}  // namespace mla::browser
