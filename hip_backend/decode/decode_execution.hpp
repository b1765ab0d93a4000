// A decode step on a device from beginning to end: prepare, both kernels, read.
//
// Fails: what DecodeRun fails with. A fault of the device is an error that says whether the device
// works again; everything that lay on it has been given back.
#pragma once

#include "hip_backend/decode/decode_run.hpp"

namespace mla::hip {

struct DecodeExecution {
  DecodeRunOptions run;
  bool through_graph = false;  // captures the two kernels and replays the graph
};

Result<DecodeResult> execute_decode(Device& device, const DecodeLaunch& launch,
                                    const DecodeExecution& execution);

}  // namespace mla::hip
