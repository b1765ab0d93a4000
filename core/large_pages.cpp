#include "core/large_pages.hpp"

#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mla {

void advise_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t kLarge = 2U << 20U;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kLarge - 1) / kLarge * kLarge;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kLarge * kLarge;
  // A refusal leaves ordinary pages, which is no failure.
  if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace mla
