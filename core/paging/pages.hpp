// Owns: how many keys lie in a run of pages that reaches the end of its request.
#pragma once

#include <cstdint>

namespace mla {

// All pages but the last are full. `last_page_len` is in tokens, 1 to page_size, and is not looked
// at where there is no page.
constexpr std::int64_t keys_in_pages(std::int64_t pages, std::int64_t page_size,
                                     std::int64_t last_page_len) {
  return pages <= 0 ? 0 : (pages - 1) * page_size + last_page_len;
}

}  // namespace mla
