// Attribution: from the failure of a property to the findings of a ledger that explain it.
//
// Watch stands between judge and backend. It notes for every launch which entries cover it and
// how its result is wrong. A launch that an entry covers is run on the CPU backend too, and its
// stages are compared; of any other launch only errors and faults are known. Private to properties.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/lifetime.hpp"
#include "properties/judge/ledger.hpp"
#include "properties/step/forwarding_backend.hpp"

namespace mla::prop {

// A launch that was made, by a property or for it.
struct SeenLaunch {
  const DecodeMetadata* metadata = nullptr;  // its address, to know the launch of the case itself
  std::vector<std::size_t> entries;          // that cover it
  DamageSet damage;
  std::string what;  // the first thing that is wrong
};

// For one judgement, in one thread. `backend` and `ledger` outlive it.
class Watch final : public ForwardingBackend {
 public:
  Watch(const Backend& backend MLA_LIFETIME_BOUND, const Ledger& ledger MLA_LIFETIME_BOUND);
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override;
  [[nodiscard]] const std::vector<SeenLaunch>& launches() const MLA_LIFETIME_BOUND {
    return launches_;
  }

 private:
  // Whether one of these entries says something about the results of a launch.
  [[nodiscard]] bool compares(const std::vector<std::size_t>& entries) const;
  void look(const DecodeLaunch& launch, const ExecutionOptions& options,
            const Result<DecodeResult>& result, SeenLaunch& seen) const;

  const Ledger& ledger_;
  std::unique_ptr<Backend> peer_;
  mutable std::vector<SeenLaunch> launches_;
};

std::vector<std::size_t> covering(const Ledger& ledger, const DecodeLaunch& launch,
                                  const ExecutionOptions& options);

// The entries that explain this failure of `property`, for a step of that kind that made these
// launches; none if a launch is wrong in a way that no entry covers. Launches are those of a
// decode: what covers a failure of another kind is the damage that the property saw, or the claim.
std::vector<std::size_t> explain(const Ledger& ledger, const Property& property, StepKind kind,
                                 std::span<const SeenLaunch> launches, const Outcome& failure);

// For a failure that they do not explain: how these launches are wrong, and which entries cover
// them, a line each.
std::vector<std::string> left_open(const Ledger& ledger, std::span<const SeenLaunch> launches);

}  // namespace mla::prop
