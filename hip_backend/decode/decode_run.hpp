// DecodeRun: one decode step on a device, from the launch to device memory and back.
//
// prepare() checks the launch, packs Q, and brings everything to the device; every buffer lies
// between canaries and what the kernels write begins as poison. Then stage1() and reduce() may be
// put on a stream, once or many times, captured into a graph or not; read() gives the buffers back.
// Fails: what the device says, a launch that contradicts itself, a missing code object.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/row_map.hpp"
#include "core/lifetime.hpp"
#include "hip_backend/admission/admission.hpp"
#include "hip_backend/decode/reduce.hpp"
#include "hip_backend/decode/stage1.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/kernels/arguments.hpp"

namespace mla::hip {

enum Input : unsigned { kInputQ = 1, kInputCache = 2, kInputLists = 4, kEveryInput = 7 };

struct DecodeRunOptions {
  const Stage1Maker& stage1;
  // Waves sleep at places drawn from this; 0: never. No bit of a result may depend on it.
  std::uint32_t sleep_seed = 0;
  // Caches whose last backed slot lies below this many bytes are allocated from slot 0 on, so that
  // offsets on the device are as large as the page numbers say.
  std::int64_t whole_cache_bytes = 0;
  // Page 0 of such a cache holds zeros, as the null block of an engine, instead of poison.
  bool page_zero_is_zero = false;
  // Inputs (a sum of Input) whose memory ends where they end, so that a device which guards its
  // memory finds a read after them; the others lie between canaries.
  unsigned exact_inputs = 0;
  std::int64_t room_behind_inputs = kCanaryBytes;  // bytes of canary after the others
  // Every work and merge of the plan runs, whatever it would access.
  bool as_planned = false;
  bool record_stages = false;  // as ExecutionOptions
};

class DecodeRun {
 public:
  static Result<std::unique_ptr<DecodeRun>> prepare(Device& device, const DecodeLaunch& launch,
                                                    const DecodeRunOptions& options);

  [[nodiscard]] MaybeError stage1(StreamHandle stream);
  [[nodiscard]] MaybeError reduce(StreamHandle stream);

  // Call between the two: completes stage 1 and, if stages are recorded, reads what it left in the
  // output buffers.
  [[nodiscard]] MaybeError read_stage1(DecodeResult& result);
  // Everything else; damaged canaries become faults.
  [[nodiscard]] MaybeError read(const DecodeLaunch& launch, DecodeResult& result) const;

  [[nodiscard]] const Launches& launches() const MLA_LIFETIME_BOUND { return launches_; }

 private:
  DecodeRun() = default;
  [[nodiscard]] MaybeError read_partials(DecodeResult& result) const;
  [[nodiscard]] MaybeError bring_inputs(const DecodeLaunch& launch,
                                        const DecodeRunOptions& options);
  [[nodiscard]] MaybeError make_outputs();
  [[nodiscard]] MaybeError find_kernels(const DecodeLaunch& launch,
                                        const DecodeRunOptions& options);
  void fill_arguments(const DecodeLaunch& launch, const DecodeRunOptions& options);
  [[nodiscard]] MaybeError bring(std::string name, std::span<const std::byte> bytes, Input kind,
                                 Address& to);
  [[nodiscard]] MaybeError output(std::string name, std::int64_t bytes, std::uint32_t word,
                                  std::size_t& index);

  Device* device_ = nullptr;
  RowMap rows_;
  Admission admission_;
  Launches launches_;
  bool record_stages_ = false;
  unsigned exact_ = 0;
  std::int64_t room_ = 0;
  std::vector<Buffer> buffers_;
  std::size_t out_ = 0, lse_ = 0, partial_out_ = 0, partial_lse_ = 0;  // of buffers_
  std::int64_t first_slot_ = 0;
  DecodeArguments decode_{};
  ReduceArguments reduce_{};
  std::unique_ptr<Stage1> stage1_;  // goes before the buffers that it works on
  ReduceLaunch reduce_launch_;      // so does this
};

}  // namespace mla::hip
