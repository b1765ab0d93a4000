#include "properties/claims/support/key_target.hpp"

#include "properties/claims/support/support.hpp"

namespace mla::prop {

KeyTarget key_of_last_rows(const Case& c, const Batch& batch, std::string_view claim) {
  KeyTarget target;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const RequestSpec& spec = batch.requests[r];
    if (spec.qo_len == 0 || spec.kv_len < spec.qo_len) continue;
    const bool more = target.request < 0 ||
                      spec.qo_len > batch.requests[static_cast<std::size_t>(target.request)].qo_len;
    if (more) target.request = static_cast<std::int64_t>(r);
  }
  if (target.request < 0) return target;
  const RequestSpec& spec = batch.requests[static_cast<std::size_t>(target.request)];
  Random random(c, claim);
  target.position = spec.kv_len - 1 - random.below(spec.qo_len);
  target.slot = batch.slot(target.request, target.position);
  return target;
}

bool may_see(const Case& c, const Batch& batch, std::int64_t request, std::int64_t i,
             std::int64_t slot) {
  const auto [q, n] = batch.requests[static_cast<std::size_t>(request)];
  const std::int64_t visible = c.causal ? n - q + 1 + i : n;
  for (std::int64_t p = 0; p < visible; ++p)
    if (batch.slot(request, p) == slot) return true;
  return false;
}

}  // namespace mla::prop
