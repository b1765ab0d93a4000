// Stage 1 of a decode run by AITER's OPUS kernel, which its wrapper takes for fp8 on gfx950 where
// AITER_MLA_USE_OPUS is set.
//
// It is compiled from a checkout (MLA_AITER_SRC), as the reduce is. Arguments and grid are those of
// mla_decode_fwd_opus_stage1. It takes the plan of every backend, and writes the LSE of all its
// rows. Works that admission keeps out are taken out of the work list. Source:
// mla_decode_fwd_opus.cu of the snapshot. Fails: a shape that it does not take, what the device
// says.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "hip_backend/decode/stage1.hpp"

namespace mla::hip::aiter {

class OpusStage1Maker final : public Stage1Maker {
 public:
  // `code` is the code object, which outlives this and the device.
  explicit OpusStage1Maker(std::span<const std::byte> code) : code_(code) {}
  [[nodiscard]] Result<std::unique_ptr<Stage1>> make(const Stage1Input& input) const override;
  [[nodiscard]] Support supports(Device& device, const ResolvedShape& shape) const;

 private:
  std::span<const std::byte> code_;
};

}  // namespace mla::hip::aiter
