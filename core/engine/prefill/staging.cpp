#include "core/engine/prefill/staging.hpp"

namespace mla::prefill {

void PlanStaging::write(const HostPlan& plan, const PlanBuffers& capacity, HostPlan& place) {
  place.qo_indptr.reserve(capacity.qo_indptr.size());
  place.kv_indptr.reserve(capacity.kv_indptr.size());
  place = plan;  // copies into the memory that is there
}

void PlanStaging::wait_for_place(device::Stream& stream, device::TransferLedger& ledger) const {
  const std::int64_t needed = staged_ + 1 - static_cast<std::int64_t>(kPlaces);
  if (*copied_ >= needed) return;
  ledger.record(device::TransferKind::synchronise, "prefill plan staging", 0);
  while (*copied_ < needed && stream.pending() > 0) stream.advance(1);
}

Result<PlanFields> PlanStaging::stage(const HostPlan& plan, const PlanBuffers& buffers,
                                      Words identity, device::Stream& stream,
                                      device::TransferLedger& ledger) {
  wait_for_place(stream, ledger);
  HostPlan& place = places_[static_cast<std::size_t>(staged_) % kPlaces];
  write(plan, buffers, place);
  auto fields = copy_plan(place, buffers, identity, stream);
  if (!fields) return fields;
  ++staged_;
  stream.launch("prefill plan copied",
                [copied = copied_](const device::DeviceAccess&) { ++*copied; });
  return fields;
}

}  // namespace mla::prefill
