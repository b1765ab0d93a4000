#include "properties/app/selection.hpp"

#include <algorithm>
#include <string_view>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/app/case_files.hpp"
#include "properties/claims/support/canary.hpp"

namespace mla::app {

using prop::ExitCode;

namespace {

// The ids come first: 'P5' is nearer to one of them than to any name.
std::string suggested_property(const std::string& id) {
  std::vector<std::string_view> ids;
  std::vector<std::string_view> words;
  for (const prop::Property& p : prop::all_properties()) {
    ids.push_back(p.id);
    words.insert(words.end(), {p.id, p.name});
  }
  const std::string near = did_you_mean(id, words);
  return near.empty() ? did_you_mean_or_all(id, ids) : near;
}

}  // namespace

Selection<std::vector<const prop::Property*>> select_properties(
    const std::vector<std::string>& ids) {
  const auto asked = [&ids](const prop::Property& p) {
    return std::any_of(ids.begin(), ids.end(),
                       [&p](const std::string& id) { return id == p.id || id == p.name; });
  };
  std::vector<const prop::Property*> out;
  for (const prop::Property& p : prop::all_properties())
    if (ids.empty() || asked(p)) out.push_back(&p);
  if (asked(prop::canary())) out.push_back(&prop::canary());
  std::vector<std::string_view> known;
  for (const prop::Property* p : out) known.insert(known.end(), {p->id, p->name});
  for (const std::string& id : ids)
    if (std::find(known.begin(), known.end(), id) == known.end())
      return Unselected{ExitCode::inconclusive,
                        "--property '" + id + "' matches no property" + suggested_property(id)};
  return out;
}

Selection<const prop::Plant*> select_plant(const std::string& id) {
  if (const prop::Plant* plant = prop::find_plant(id); plant != nullptr) return plant;
  std::vector<std::string_view> known;
  for (const prop::Plant& p : prop::all_plants()) known.push_back(p.id);
  const std::string near = did_you_mean(id, known);
  return Unselected{ExitCode::inconclusive,
                    "'" + id + "' is not a plant" + (near.empty() ? "; see plants --list" : near)};
}

Selection<std::vector<Case>> select_cases(const std::vector<std::string>& paths) {
  std::vector<Case> out;
  for (const std::string& path : paths) {
    auto cases = load_cases(path);
    if (!cases) {
      const bool unreadable = cases.error().code == ErrorCode::fault;
      return Unselected{unreadable ? ExitCode::environment : ExitCode::usage,
                        (unreadable ? "--cases-file: " : "") + cases.error().message};
    }
    if (cases->empty())
      return Unselected{ExitCode::inconclusive, "--cases-file '" + path + "' holds no case"};
    out.insert(out.end(), cases->begin(), cases->end());
  }
  return out;
}

}  // namespace mla::app
