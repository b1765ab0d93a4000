#include "properties/dump/read/formats.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/files/json_fields.hpp"

namespace mla::dump {
namespace {

// A format, and keys that say that an object is of another.
struct Format {
  std::string_view name;
  std::span<const std::string_view> foreign;
};

constexpr std::string_view kOfPrefill[] = {"pages_kv_indptr", "context_lens"};
constexpr std::string_view kOfDecode[] = {"seqlens_kv_indptr", "kv_last_page_lens"};
constexpr std::string_view kOfPlans[] = {
    "seqlens_qo_indptr", "seqlens_kv_indptr", "pages_kv_indptr", "context_lens",
    "work_indptr",       "work_info",         "reduce_indptr",   "expected"};
constexpr Format kOfOne[] = {{"mla-testbed plan 1", kOfPrefill},
                             {"mla-testbed prefill 1", kOfDecode},
                             {kFaFormat, kOfPlans},
                             {"mla-testbed bundle 1", {}}};
constexpr Format kOfLists[] = {{"mla-testbed steps 1", {}}, {"planner vectors v1", {}}};

// What may stand beside a list of plans: `plan --json` and the golden vectors write it.
constexpr std::string_view kBesideAList[] = {"format",      "name",   "note",
                                             "description", "source", "conventions"};

MaybeError check(const nlohmann::json& object, std::span<const Format> known) {
  const auto given = object.find("format");
  if (given == object.end()) return std::nullopt;
  const auto bad = [&](const std::string& why) {
    return Error{ErrorCode::usage, "key 'format' is " + files::shown(*given) + why};
  };
  std::string names;
  for (const Format& format : known) {
    if (*given == nlohmann::json(format.name)) {
      for (const std::string_view key : format.foreign)
        if (object.contains(std::string(key))) return bad(say(", which has no key '", key, "'"));
      return std::nullopt;
    }
    names += say(names.empty() ? "'" : ", '", format.name, "'");
  }
  return bad(": expected one of " + names);
}

}  // namespace

MaybeError check_plan_format(const nlohmann::json& object) {
  return check(object, kOfOne);
}

MaybeError check_list(const nlohmann::json& document, const std::string& key) {
  const auto bad = [](const std::string& why) { return Error{ErrorCode::usage, why}; };
  if (!document[key].is_array())
    return bad("key '" + key + "' is " + files::shown(document[key]) +
               ": it must be a list of plans");
  std::vector<std::string_view> known(std::begin(kBesideAList), std::end(kBesideAList));
  known.emplace_back(key);
  for (const auto& [other, value] : document.items())
    if (std::ranges::find(known, other) == known.end())
      return bad("key '" + other + "' is unknown beside the list '" + key + "'" +
                 did_you_mean(other, known));
  return check(document, kOfLists);
}

}  // namespace mla::dump
