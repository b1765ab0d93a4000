// run_step: a decode step of a claim's own values, from shape to result.
//
// A Subject runs the step of its case; a claim runs this on another batch over the same cache, with
// the subject's hooks and on its backend. Fails: with the error of the stage that failed.
#pragma once

#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/backend.hpp"
#include "core/engine/decode_builder.hpp"
#include "core/result.hpp"
#include "properties/step/subject.hpp"

namespace mla::prop {

struct Step {
  ResolvedShape shape;
  DecodeBuffers buffers;
  DecodeMetadata metadata;
  DecodeResult result;
};
// `c` describes the batch: its requests are the batch's.
Result<Step> run_step(const Subject& subject, const Case& c, const Batch& batch,
                      const DecodeTensors& tensors);

}  // namespace mla::prop
