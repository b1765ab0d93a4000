// A persistent kernel of an installed AITER on one batch, to be asked about any plan for it.
//
// The plan runs as it is: an access outside of all memory, a damaged canary and a wave that does
// not end are wrong, like an output outside of the reference's bounds. An LSE is judged where the
// kernel or the merge returns one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu_backend/decode/reference.hpp"
#include "hip_backend/aiter/installation.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"

namespace mla::hip::aiter::test {

// Keys dealt out to ranks in turns, of which a case has those of one rank.
struct Deal {
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
  // Keys that the ranks have beyond this one's last; below `ranks`.
  std::int64_t more = 0;

  // Keys of a request over all ranks.
  [[nodiscard]] std::int64_t global(std::int64_t local) const {
    return local == 0 ? 0 : (local - 1) * ranks + rank + 1 + more;
  }
};

class KernelUnderTest {
 public:
  // Null with the reason where the row does not take the case. A row for ranks gets `deal`. Of
  // several ranks the planner is told of no mask, as engines do: it would trim to local positions.
  static std::unique_ptr<KernelUnderTest> make(const Case& spec, const ManifestRow& row,
                                               const std::shared_ptr<Installation>& installation,
                                               const Deal& deal, std::string& reason);

  // The planner's own plan.
  [[nodiscard]] const plan::Plan& planned() const { return *step_->metadata.plan; }
  // What plan_check looks at, with `plan` for the planner's.
  [[nodiscard]] plan::PlanCheckInput check_input(const plan::Plan& plan) const;
  // Empty when the kernel is right with this plan, otherwise what is wrong.
  [[nodiscard]] std::string run(const plan::Plan& plan);
  // The same for another backend.
  [[nodiscard]] std::string run_on(const Backend& backend, const plan::Plan& plan);

 private:
  KernelUnderTest() = default;
  [[nodiscard]] std::string judge(const DecodeResult& result) const;

  std::unique_ptr<hip::test::Step> step_;
  std::vector<std::int32_t> global_kv_indptr_;  // of a row for ranks
  Deal deal_;
  cpu::ReferenceResult reference_;
  std::unique_ptr<Backend> backend_;
};

// Cases that a persistent row of the manifest is asked about: what its name says, and what AITER's
// dispatch leads to it with other heads, folded ones and queries of several tiles among them.
std::vector<Case> calibration_cases(Arch arch, const RowKey& key);

}  // namespace mla::hip::aiter::test
