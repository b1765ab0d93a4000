// A decode step built from a case line, and the comparisons that the tests of this room share.
#pragma once

#include <memory>
#include <string>

#include "core/engine/decode_builder.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "cpu_backend/decode/reference.hpp"

namespace mla::cpu::test {

// Everything of one step; the metadata points into the buffers.
struct Step {
  Case spec;
  Batch batch;
  DecodeBuffers buffers;
  DecodeMetadata metadata;
  DecodeTensors tensors;

  [[nodiscard]] DecodeLaunch launch() const { return {metadata, tensors}; }
  [[nodiscard]] ReferenceResult reference() const;
};

// Null when a stage refuses the case.
std::unique_ptr<Step> try_step(const Case& spec);
// Fails the running test when the line is malformed or refused.
std::unique_ptr<Step> make_step(const std::string& line);

// Runs a step; fails the running test on an error.
DecodeResult run(const Backend& backend, const Step& step, const ExecutionOptions& options);
DecodeResult run(const Step& step);  // best data path, two threads

// How close a result comes to the bounds: 1 is the limit. Infinite when an element is NaN, was not
// written, or is wrong where the bound is 0.
struct Closeness {
  double out = 0;
  double lse = 0;
  [[nodiscard]] bool within() const { return out <= 1 && lse <= 1; }
};
Closeness closeness(const DecodeResult& result, const ReferenceResult& reference);

// Same bits in every output, final and intermediate.
bool same_bits(const DecodeResult& a, const DecodeResult& b);

// "fault 1; fault 2"
std::string faults_text(const DecodeResult& result);

}  // namespace mla::cpu::test
