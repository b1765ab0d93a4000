// A decode step of a case, built and not executed, for tests of what looks at launches.
#pragma once

#include <memory>
#include <string_view>

#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "properties/generate/tensors.hpp"
#include "tests/catch.hpp"
#include "tests/properties/judge_support.hpp"

struct PlannedStep {
  mla::Case spec;
  mla::Batch batch;
  mla::DecodeBuffers buffers;  // the metadata points in here
  mla::DecodeMetadata metadata;
  mla::DecodeTensors tensors;
  [[nodiscard]] mla::DecodeLaunch launch() const { return {metadata, tensors}; }
};

inline std::unique_ptr<PlannedStep> planned_step(std::string_view line) {
  auto step = std::make_unique<PlannedStep>();
  step->spec = case_of(line);
  step->batch = *mla::make_batch(step->spec);
  const auto shape = mla::resolve_shape(step->spec, step->batch);
  REQUIRE(shape.ok());
  step->buffers = mla::make_decode_buffers(step->spec, step->batch, *shape);
  auto metadata = mla::DecodeMetadataBuilder({}, mla::StepHooks::none())
                      .build(step->batch, *shape, step->buffers);
  REQUIRE(metadata.ok());
  step->metadata = std::move(*metadata);
  step->tensors = mla::prop::make_tensors(step->spec, step->batch);
  return step;
}
