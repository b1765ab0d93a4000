// Stage comparison: two backends' intermediate buffers of one launch, and the first that differs.
//
// Partial results have no reference of their own; both backends follow one contract, so they are
// held to each other: what nobody wrote, NaN and infinity are the same elements, and a value may
// differ by what the other rounding of one probability moves. Rows are kernel rows. Fails: never.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/backend.hpp"

namespace mla::prop {

struct StageDifference {
  std::string what;        // stage, row, head, element and both values
  std::int64_t work = -1;  // the work that wrote it on the second backend, or -1
};

std::optional<StageDifference> first_stage_difference(const DecodeLaunch& launch,
                                                      const DecodeResult& first,
                                                      const DecodeResult& second);

// A backend that runs every launch on `peer` as well; a stage that differs is a fault of the
// result. Neither may be null.
std::unique_ptr<Backend> compared_with(std::unique_ptr<Backend> backend,
                                       std::unique_ptr<Backend> peer);

}  // namespace mla::prop
