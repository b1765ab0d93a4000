// The merge of partial results run by AITER's own reduce kernels.
//
// They are no code object of an installation: a build with MLA_AITER_SRC compiles them from a
// checkout. What mla_reduce_v1 does around its launch is done here: the choice of a kernel, its
// grid and LDS, and its arguments. Merges that admission keeps out are taken out of the lists,
// since these kernels know no list of skipped merges. Without a plan AITER merges with a Triton
// kernel, and this project's kernel takes its place. Source: reduce.cu of the snapshot
// (aiter.md 7). Fails: a number of heads that AITER has no kernel for, what the
// device says.
#pragma once

#include <cstddef>
#include <span>

#include "hip_backend/decode/reduce.hpp"

namespace mla::hip::aiter {

class AiterReduce final : public ReduceMaker {
 public:
  // `code` is the code object, which outlives this and the device.
  explicit AiterReduce(std::span<const std::byte> code) : code_(code) {}
  [[nodiscard]] Result<ReduceLaunch> make(const ReduceInput& input) const override;
  // Whether there is a kernel for the partial rows of a shape.
  [[nodiscard]] Support supports(Device& device, const ResolvedShape& shape) const;

 private:
  std::span<const std::byte> code_;
};

}  // namespace mla::hip::aiter
