#include "core/engine/fa/kernels.hpp"

#include <algorithm>

namespace mla::fa {

KeyRange Visibility::of_row(std::int64_t row, std::int64_t qo_len, std::int64_t kv_len) const {
  const std::int64_t own = kv_len - qo_len + row;
  KeyRange range{0, causal ? std::clamp<std::int64_t>(own + 1, 0, kv_len) : kv_len};
  if (window >= 0) range.first = std::clamp<std::int64_t>(own - window, 0, range.last);
  return range;
}

}  // namespace mla::fa
