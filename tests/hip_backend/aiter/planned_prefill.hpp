// A small FP8 prefill with its plan, for AITER's kernels with a plan, and what the dense reference
// says to a result. Prompts without context: the keys are those of the rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plan/ps_check.hpp"
#include "core/plan/ps_prefill.hpp"
#include "cpu_backend/prefill/prefill_reference.hpp"
#include "hip_backend/aiter/installation.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/prefill/device_prefill.hpp"

namespace mla::hip::aiter::test {

class PlannedPrefill {
 public:
  // `spec` is of kind prefill; `units` are the compute units of the plan and decide how much of it
  // is split. Null with a reason where it cannot be planned.
  static std::unique_ptr<PlannedPrefill> make(const Case& spec, std::int64_t units, bool causal,
                                              std::string& reason);

  [[nodiscard]] const plan::Plan& planned() const { return *plan_; }
  // The launch of a plan, with the LSE of every row; refers to this and to the plan.
  [[nodiscard]] PrefillInput input(const plan::Plan& plan) const;
  // Runs a plan for this step on a fresh emulated device: what is wrong, empty if nothing is.
  [[nodiscard]] std::string run(const plan::Plan& plan, Installation& installation,
                                const EmulatedOptions& options) const;
  [[nodiscard]] std::vector<plan::Violation> check(const plan::Plan& plan) const;

 private:
  PlannedPrefill() = default;

  Case spec_;
  bool causal_ = true;
  float softmax_scale_ = 1;
  std::vector<std::int32_t> indptr_, rows_, lengths_;
  std::vector<std::byte> q_, k_, v_;  // fp8
  plan::BufferSizes sizes_;
  std::unique_ptr<plan::Plan> plan_;
  cpu::ReferenceResult reference_;
};

// The worst output that leaves its bound, in words; rows of `heads` times `width` elements.
std::string worst_output(const std::vector<std::uint16_t>& out,
                         const cpu::ReferenceResult& reference, std::int64_t heads,
                         std::int64_t width);

}  // namespace mla::hip::aiter::test
