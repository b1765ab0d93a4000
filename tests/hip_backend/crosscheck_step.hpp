// One decode step on two backends, and what may differ between them.
//
// Final outputs are held to the per-element bound of the dense reference. Partial results have no
// reference of their own: both backends follow the same contract, so they are held to each other,
// row by row, with the tolerance of the element type that probabilities are rounded to. Elements
// that were not written must be the same on both sides.
#pragma once

#include <memory>
#include <string>

#include "core/case/case.hpp"
#include "core/engine/backend.hpp"
#include "core/engine/decode_builder.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/generate/domain.hpp"

namespace mla::hip::test {

struct Step {
  Case spec;
  Batch batch;
  DecodeBuffers buffers;
  DecodeMetadata metadata;
  DecodeTensors tensors;
  [[nodiscard]] DecodeLaunch launch() const { return {metadata, tensors}; }
};

// Null when a stage refuses the case, with the reason.
std::unique_ptr<Step> try_step(const Case& spec, std::string& reason);
// The same with a shape of the caller's, for kernels that no case leads to, and a plan that is safe
// or the original's.
std::unique_ptr<Step> step_of(const Case& spec, Batch batch, const ResolvedShape& shape,
                              plan::Fidelity fidelity, std::string& reason);

// The decode cases among which a cross-check draws: every dtype, head count, block size and query
// length of the random domain, one step each.
prop::CaseDomain crosscheck_domain(int size);

// How close a result comes to its bound, 1 being the limit.
struct Closeness {
  double out = 0;
  double lse = 0;
};

// Empty when the result is within the reference's bounds; otherwise the worst element in words.
std::string judge(const Step& step, const DecodeResult& result, Closeness& closeness);

// Empty when all intermediate buffers agree; otherwise the first stage that differs, in words.
std::string compare_stages(const Step& step, const DecodeResult& cpu, const DecodeResult& device);

}  // namespace mla::hip::test
