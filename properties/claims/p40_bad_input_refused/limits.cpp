// P40 for the steps of a decode engine: one with a request, or a row of a request, more than the
// buffers are provisioned for is refused, and nothing is queued.
#include <algorithm>

#include "core/engine/decode_step.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

// Why the engine does not refuse a step with these rows as too large.
std::optional<std::string> taken(Subject& subject, const std::vector<std::int64_t>& qo_lens,
                                 const engine::StepLimits& limits) {
  const engine::DecodeStepBuilder builder(subject.spec(), limits, subject.hooks());
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream(ledger);
  const auto buffers = builder.allocate(heap);
  if (!buffers) return std::nullopt;  // P21 asks whether an engine has buffers
  engine::CommonStep step;
  step.qo_lens = qo_lens;
  for (const std::int64_t q : qo_lens) step.num_rows += q;
  step.max_kv_len = *std::ranges::max_element(qo_lens);
  const auto built = builder.build(step, *buffers, stream, false);
  const bool refused = !built && built.error().code == ErrorCode::overrun;
  if (refused && stream.pending() == 0) return std::nullopt;
  return say("is not refused by an engine for ", limits.max_requests, " requests of up to ",
             limits.max_qo_len, " rows");
}

}  // namespace

Outcome decode_beyond_limits_refused(Subject& subject) {
  std::vector<std::int64_t> qo_lens;
  for (const RequestSpec& r : subject.batch()->requests) qo_lens.push_back(r.qo_len);
  if (qo_lens.empty()) return passed();
  auto longest = std::ranges::max_element(qo_lens);
  const engine::StepLimits limits{.max_requests = std::ssize(qo_lens),
                                  .max_qo_len = std::max<std::int64_t>(*longest, 1)};
  ++*longest;
  if (const auto why = taken(subject, qo_lens, limits))
    return failed("a request with a row more " + *why);
  --*longest;
  qo_lens.push_back(qo_lens.front());
  if (const auto why = taken(subject, qo_lens, limits)) return failed("a request more " + *why);
  return passed();
}

}  // namespace mla::prop
