#include "properties/app/list_memory.hpp"

#include "properties/step/estimate.hpp"

namespace mla::app {

MaybeError check_list_memory(const Case& c, const MemoryLimit& limit) {
  const double lists = 2 * prop::estimate_of(c).lists;
  const auto most = static_cast<double>(limit.bytes);
  if (most == 0 || lists <= most) return std::nullopt;
  return Error{ErrorCode::fault, format_case(c) + ": its lists need about " +
                                     prop::bytes_text(lists) + " of memory; " +
                                     prop::bytes_text(most) + " " + limit.source};
}

}  // namespace mla::app
