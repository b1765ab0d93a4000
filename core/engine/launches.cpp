#include "core/engine/launches.hpp"

#include <algorithm>
#include <tuple>

#include "core/say.hpp"

namespace mla {
namespace {

auto key(const Launch& l) {
  return std::tie(l.backend, l.device, l.kind, l.kernel);
}

}  // namespace

void Launches::add(const Launch& launch) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), launch,
                                   [](const auto& a, const auto& b) { return key(a) < key(b); });
  if (at != entries_.end() && key(*at) == key(launch))
    at->count += launch.count;
  else
    entries_.insert(at, launch);
}

void Launches::add(const Launches& other) {
  for (const Launch& launch : other.entries_) add(launch);
}

std::optional<std::int64_t> Launches::of(std::string_view backend, std::string_view device,
                                         StepKind kind) const {
  std::optional<std::int64_t> count;
  for (const Launch& l : entries_)
    if (l.backend == backend && l.device == device && l.kind == kind)
      count = count.value_or(0) + l.count;
  return count;
}

std::vector<std::string> Launches::lines() const {
  std::vector<std::string> out;
  const Launch* last = nullptr;
  std::string kernels;
  const auto close = [&] {
    if (last != nullptr) out.back() += " (" + kernels + ")";
    kernels.clear();
  };
  for (const Launch& l : entries_) {
    if (l.count == 0) continue;
    const bool same_device =
        last != nullptr && l.backend == last->backend && l.device == last->device;
    if (!same_device || l.kind != last->kind) {
      close();
      if (!same_device) out.push_back(l.backend + " on " + l.device + ":");
      out.back() +=
          say(same_device ? ", " : " ", name(l.kind), " ", *of(l.backend, l.device, l.kind));
    }
    kernels += say(kernels.empty() ? "" : ", ", l.kernel, " ", l.count);
    last = &l;
  }
  close();
  return out;
}

}  // namespace mla
