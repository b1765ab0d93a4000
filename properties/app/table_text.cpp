#include "properties/app/table_text.hpp"

#include <algorithm>
#include <cstdio>

#include "core/say.hpp"

namespace mla::app {

std::string row(const char* label, const std::string& text) {
  char head[32];
  std::snprintf(head, sizeof head, "%-12s", label);
  return head + text + "\n";
}

std::string batch_line(const Batch& batch) {
  std::int64_t keys = 0;
  std::int64_t longest = 0;
  for (const RequestSpec& r : batch.requests) {
    keys += r.kv_len;
    longest = std::max(longest, r.qo_len);
  }
  const auto all = static_cast<std::int64_t>(batch.requests.size());
  return num(all) + " requests (" + num(all - batch.live.count()) + " of them graph padding), " +
         num(batch.rows().count()) + " query rows, at most " + num(longest) + " a request, " +
         num(keys) + " keys";
}

std::string heads_line(const HeadPadding& h) {
  std::string counts =
      num(h.model.count()) + " of the model, " + num(h.kernel.count()) + " of the kernel: ";
  switch (h.kind) {
    case PadKind::none:
      return counts + "no padding";
    case PadKind::repeat:
      return counts + "each repeated " + num(h.kernel.count() / h.model.count()) + " times";
    case PadKind::cyclic:
      return counts + "padded head i is head i mod " + num(h.model.count());
  }
  return counts;
}

}  // namespace mla::app
