#include "properties/judge/skip_reasons.hpp"

#include <algorithm>
#include <tuple>

namespace mla::prop {

void SkipReasons::note(std::int64_t index, Verdict verdict, const std::string& reason) {
  const auto [at, fresh] = given_.try_emplace(reason, Given{verdict == Verdict::skip, 0, index});
  at->second.first = std::min(at->second.first, index);
  ++at->second.cases;
}

SkipReasons::Shown SkipReasons::most_telling() const {
  const auto worth = [](const auto& given) {
    return std::tuple(given.second.refused, given.second.cases, -given.second.first);
  };
  const auto best =
      std::max_element(given_.begin(), given_.end(),
                       [&](const auto& a, const auto& b) { return worth(a) < worth(b); });
  return best == given_.end() ? Shown{} : Shown{best->first, best->second.cases};
}

SkipReasons::Shown SkipReasons::first() const {
  const auto first = std::min_element(
      given_.begin(), given_.end(),
      [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  return first == given_.end() ? Shown{} : Shown{first->first, 1};
}

}  // namespace mla::prop
