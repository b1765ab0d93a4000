// Stage comparison: two backends' intermediate buffers of one launch, and the first that differs.
//
// What was not written, NaN and infinity must be the same elements on both, and two values may lie
// as far apart as two backends that each keep the bound of the reference over the keys of the work
// (cpu_backend/decode/stage_bounds.hpp). Without a plan some kernels of AITER cut other splits than
// the merge counts (kernel_split_tile): of their partial results only what is unwritten or NaN on
// the second backend alone is a difference. Rows are kernel rows.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/engine/backend.hpp"
#include "properties/step/damage.hpp"

namespace mla::prop {

struct StageDifference {
  std::string what;        // stage, row, head, element and both values
  std::int64_t work = -1;  // the work that wrote it on the second backend, or -1
  DamageSet damage;        // of every element that differs, in all stages
};

std::optional<StageDifference> first_stage_difference(const DecodeLaunch& launch,
                                                      const DecodeResult& first,
                                                      const DecodeResult& second);

// A backend that runs every launch on `peer` as well; a stage that differs is a fault of the
// result. Neither may be null.
std::unique_ptr<Backend> compared_with(std::unique_ptr<Backend> backend,
                                       std::unique_ptr<Backend> peer);

}  // namespace mla::prop
