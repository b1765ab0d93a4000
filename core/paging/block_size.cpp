#include "core/paging/block_size.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "core/say.hpp"

namespace mla {
namespace {

bool entry_supports(const SupportedSize& entry, std::int64_t size) {
  if (const auto* multiple = std::get_if<MultipleOf>(&entry))
    return multiple->base > 0 && size % multiple->base == 0;
  return std::get<std::int64_t>(entry) == size;
}

}  // namespace

bool supports_size(const SupportedSizes& backend, std::int64_t size) {
  return std::any_of(backend.begin(), backend.end(),
                     [size](const SupportedSize& e) { return entry_supports(e, size); });
}

Result<std::int64_t> select_common_block_size(std::int64_t manager_size,
                                              const std::vector<SupportedSizes>& backends) {
  const auto all_support = [&backends](std::int64_t size) {
    return std::all_of(backends.begin(), backends.end(),
                       [size](const SupportedSizes& b) { return supports_size(b, size); });
  };
  if (manager_size < 1)
    return Error{ErrorCode::usage, say("manager block size ", manager_size, " is not positive")};
  if (all_support(manager_size)) return manager_size;
  std::set<std::int64_t, std::greater<>> candidates;
  for (const SupportedSizes& backend : backends)
    for (const SupportedSize& entry : backend)
      if (const auto* size = std::get_if<std::int64_t>(&entry)) candidates.insert(*size);
  for (const std::int64_t size : candidates)
    if (size > 0 && manager_size % size == 0 && all_support(size)) return size;
  return Error{ErrorCode::unsupported, say("No common block size for ", manager_size, ".")};
}

}  // namespace mla
