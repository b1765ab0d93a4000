// Stage1: what computes stage 1 of a decode run, on buffers that the run owns.
//
// DecodeRun brings inputs and outputs to the device, says where they lie (DecodeArguments) and lets
// a maker prepare the launch: its own kernel, or a foreign one that keeps the same stage
// contracts. A Stage1 lives as long as its run. Fails: with what the device says, or with the
// reason why there is no such kernel.
#pragma once

#include <memory>

#include "core/engine/backend.hpp"
#include "core/engine/row_map.hpp"
#include "hip_backend/admission/admission.hpp"
#include "hip_backend/device/device.hpp"
#include "hip_backend/kernels/arguments.hpp"

namespace mla::hip {

class Stage1 {
 public:
  Stage1() = default;
  Stage1(const Stage1&) = delete;
  Stage1& operator=(const Stage1&) = delete;
  virtual ~Stage1() = default;
  // Puts the work on a stream; may be called again.
  virtual MaybeError run(StreamHandle stream) = 0;
  // Called when the stream has been waited for, before anything reads what stage 1 left.
  virtual MaybeError finish() = 0;
};

struct Stage1Input {
  Device& device;
  const DecodeLaunch& launch;
  const RowMap& rows;
  const Admission& admission;
  const DecodeArguments& buffers;  // addresses and scales; what only our kernel reads as well
  Launches& launches;  // of the run: a Stage1 counts its own, one of a capture when it is captured
};

class Stage1Maker {
 public:
  Stage1Maker() = default;
  Stage1Maker(const Stage1Maker&) = delete;
  Stage1Maker& operator=(const Stage1Maker&) = delete;
  virtual ~Stage1Maker() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Stage1>> make(const Stage1Input& input) const = 0;
};

// The kernels of this project (kernels/decode.hpp).
const Stage1Maker& own_stage1();

}  // namespace mla::hip
