// PlanStaging: two places in pinned host memory from which plans are copied in turn.
//
// The host may be ahead of the device. A copy reads its source when the device comes to it, so the
// source of step N is not rewritten before N's copies have run; with two places the host waits only
// when it is two steps ahead. One place without waiting, or copies that the stream does not order,
// replace a plan under the kernels that use it. Source: vLLM #58886, BUG-082.
// Fails: as copy_plan().
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/engine/device/ledger.hpp"
#include "core/engine/prefill/plan_buffers.hpp"
#include "core/lifetime.hpp"

namespace mla::prefill {

class PlanStaging {
 public:
  static constexpr std::size_t kPlaces = 2;

  // Keeps the plan in the next place and queues its copies. Waits first, and records that in the
  // ledger, if the copies out of that place have not run yet.
  Result<PlanFields> stage(const HostPlan& plan, const PlanBuffers& buffers, Words identity,
                           device::Stream& stream, device::TransferLedger& ledger);

  // Pinned memory does not move: a plan is written into a place, over what is there.
  static void write(const HostPlan& plan, const PlanBuffers& capacity, HostPlan& place);
  [[nodiscard]] HostPlan& place(std::size_t i) MLA_LIFETIME_BOUND { return places_[i]; }

 private:
  void wait_for_place(device::Stream& stream, device::TransferLedger& ledger) const;

  std::array<HostPlan, kPlaces> places_;
  std::int64_t staged_ = 0;
  // Plans whose copies have run; the stream's operations outlive a moved or destroyed staging.
  std::shared_ptr<std::int64_t> copied_ = std::make_shared<std::int64_t>(0);
};

}  // namespace mla::prefill
