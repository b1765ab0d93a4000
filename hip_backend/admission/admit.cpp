#include "hip_backend/admission/admit.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "hip_backend/admission/merges.hpp"
#include "hip_backend/admission/works.hpp"

namespace mla::hip {
namespace {

// The planner's addresses are not followed on the device, which has copies of the buffers; that
// they are the right ones is checked here.
bool addresses_fit(const plan::PlanView& plan, std::vector<Fault>& faults) {
  const auto fits = [&](std::size_t word, std::span<const std::int32_t> buffer, const char* name) {
    if (plan.work_meta_data[word] == std::bit_cast<std::uint64_t>(buffer.data())) return true;
    faults.push_back({say("work_meta_data[", word, "] is ", plan.work_meta_data[word],
                          ", which is not the address of ", name),
                      -1, -1});
    return false;
  };
  const bool indptr = fits(0, plan.work_indptr, "work_indptr");
  return fits(1, plan.work_info, "work_info_set") && indptr;
}

void admit_persistent(const AdmissionInput& input, Admission& admission) {
  const plan::PlanView plan = input.metadata.plan->view();
  const std::size_t works = plan.work_info.size() / plan::kWorkItemWords;
  const std::size_t slots = plan.work_indptr.size() - 1;
  admission.skip.assign(works, 1);
  admission.skip_slot.assign(slots, 1);
  const auto capacity = static_cast<std::int64_t>(plan.reduce_partial_map.size());
  WorkAdmission checks(input, capacity * input.metadata.shape.max_qo_len, admission);
  if (addresses_fit(plan, admission.faults)) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const std::int64_t begin = plan.work_indptr[slot];
      const std::int64_t end = plan.work_indptr[slot + 1];
      if (begin < 0 || end < begin || end > static_cast<std::int64_t>(works)) {
        admission.faults.push_back(
            {say("slot ", slot, ": its works [", begin, ", ", end, ") are not in [0, ", works, ")"),
             -1, static_cast<std::int64_t>(slot)});
        continue;
      }
      admission.skip_slot[slot] = 0;
      for (std::int64_t work = begin; work < end; ++work)
        checks.admit_work(work, static_cast<std::int64_t>(slot));
    }
  }
  admit_tiles(plan, checks, admission);
}

void admit_split(const AdmissionInput& input, Admission& admission) {
  const DecodeMetadata& md = input.metadata;
  const std::int64_t splits = md.shape.kv_splits;
  const std::int64_t requests = md.requests().count();
  admission.skip.assign(static_cast<std::size_t>(requests * splits), 1);
  admission.skip_slot.assign(1, 0);
  admission.skip_tile.assign(static_cast<std::size_t>(requests), 1);
  WorkAdmission checks(input, splits == 1 ? 0 : md.rows().count() * splits, admission);
  for (std::int64_t r = 0; r < requests; ++r) checks.admit_request(r);
  if (splits == 1) return;
  for (std::int64_t r = 0; r < requests; ++r)
    if (admission.skip[static_cast<std::size_t>(r * splits)] == 0)
      admit_request_merge(md, r, admission);
}

}  // namespace

Admission admit(const AdmissionInput& input) {
  Admission admission;
  if (input.metadata.shape.route == Route::split) {
    admit_split(input, admission);
  } else {
    admit_persistent(input, admission);
  }
  std::sort(admission.footprint.begin(), admission.footprint.end(),
            [](const Footprint& a, const Footprint& b) {
              return std::pair(a.work, a.slot) < std::pair(b.work, b.slot);
            });
  return admission;
}

Admission admit_as_planned(const DecodeMetadata& metadata) {
  const plan::PlanView plan = metadata.plan->view();
  Admission admission;
  admission.as_planned = true;
  admission.skip.assign(plan.work_info.size() / plan::kWorkItemWords, 0);
  admission.skip_slot.assign(plan.work_indptr.size() - 1, 0);
  admission.skip_tile.assign(plan.reduce_indptr.size() - 1, 0);
  admission.longest = metadata.shape.max_qo_len;
  admission.longest_tile = metadata.shape.max_qo_len;
  admission.partial_rows = std::ssize(plan.reduce_partial_map) * metadata.shape.max_qo_len;
  return admission;
}

}  // namespace mla::hip
