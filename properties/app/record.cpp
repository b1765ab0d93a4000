#include "properties/app/record.hpp"

#include <algorithm>
#include <utility>

namespace mla::app {

void Item::add(Finding finding) {
  const auto after =
      std::upper_bound(findings.begin(), findings.end(), finding.number,
                       [](std::int64_t number, const Finding& f) { return number < f.number; });
  findings.insert(after, std::move(finding));
  if (findings.size() > kKept) findings.pop_back();
}

std::vector<std::string> Record::plants_of_shard() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < plants.size(); ++i)
    if (shard.has(static_cast<std::int64_t>(i))) out.push_back(plants[i]);
  return out;
}

const Item* Record::find(std::string_view id) const {
  const auto at =
      std::find_if(items.begin(), items.end(), [&](const Item& t) { return t.name == id; });
  return at == items.end() ? nullptr : &*at;
}

const Item& Record::add(Item one) {
  const auto place = [&](const Item& t) { return std::find(plants.begin(), plants.end(), t.name); };
  const auto after =
      std::upper_bound(items.begin(), items.end(), one,
                       [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return *items.insert(after, std::move(one));
}

}  // namespace mla::app
