#include "properties/cli/selection.hpp"

#include <algorithm>

#include "properties/canary.hpp"
#include "properties/cli/case_files.hpp"

namespace mla::cli {

using prop::ExitCode;

Selection<std::vector<const prop::Property*>> select_properties(
    const std::vector<std::string>& ids) {
  std::vector<const prop::Property*> out;
  for (const prop::Property& p : prop::all_properties())
    if (ids.empty() || std::find(ids.begin(), ids.end(), p.id) != ids.end()) out.push_back(&p);
  const prop::Property& canary = prop::canary();
  if (std::find(ids.begin(), ids.end(), canary.id) != ids.end()) out.push_back(&canary);
  for (const std::string& id : ids) {
    if (prop::find_property(id) != nullptr) continue;
    std::string known;
    for (const prop::Property& p : prop::all_properties())
      known += (known.empty() ? "" : ", ") + std::string(p.id);
    return Unselected{ExitCode::inconclusive,
                      "--property '" + id + "' matches no property; there are " + known};
  }
  return out;
}

Selection<std::vector<Case>> select_cases(const std::vector<std::string>& paths) {
  std::vector<Case> out;
  for (const std::string& path : paths) {
    auto cases = load_cases(path);
    if (!cases) {
      const bool unreadable = cases.error().code == ErrorCode::fault;
      return Unselected{unreadable ? ExitCode::inconclusive : ExitCode::usage,
                        (unreadable ? "--cases-file: " : "") + cases.error().message};
    }
    if (cases->empty())
      return Unselected{ExitCode::inconclusive, "--cases-file '" + path + "' holds no case"};
    out.insert(out.end(), cases->begin(), cases->end());
  }
  return out;
}

}  // namespace mla::cli
