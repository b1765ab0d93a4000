// P24 for prefill steps: one natural-log LSE for each row and head, whichever way the row was
// computed; that of a row that sees one key is its score.
#include <cmath>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/say.hpp"
#include "properties/claims/prefill_claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/prefill/run.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

using prefill::kQkDim;

double element(std::uint16_t bits, const prefill::PrefillShape& shape) {
  const float value = bf16_to_float(bits);
  if (shape.arithmetic() == Dtype::bf16) return value;
  return fp8_to_float(fp8_from_float(value, shape.fp8), shape.fp8);
}

// The score of a row of the step with its own new key.
double score(const PrefillStep& step, std::int64_t row, std::int64_t head) {
  const std::int64_t first = (row * step.tensors.heads + head) * kQkDim;
  double sum = 0;
  for (std::int64_t d = first; d < first + kQkDim; ++d)
    sum += element(step.tensors.q[static_cast<std::size_t>(d)], step.shape) *
           element(step.tensors.k[static_cast<std::size_t>(d)], step.shape);
  return sum * double{step.tensors.softmax_scale};
}

}  // namespace

Outcome prefill_lse_contract(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  const std::int64_t heads = step.spec.heads;
  const std::int64_t rows = step.batch.rows().count();
  if (static_cast<std::int64_t>(step.result.lse.size()) != rows * heads)
    return failed(say("the LSE has ", step.result.lse.size(), " elements for ", rows, " rows of ",
                      heads, " heads"));
  const cpu::ReferenceResult& reference = subject.prefill_reference();
  std::int64_t row = 0;
  for (const auto& [q, n] : step.batch.requests) {
    const bool one_key = n == 1 || (step.spec.causal && n == q);
    for (std::int64_t h = 0; h < heads && one_key; ++h) {
      const auto at = static_cast<std::size_t>(row * heads + h);
      const double want = score(step, row, h);
      if (!(std::fabs(step.result.lse[at] - want) <= reference.lse_bound[at]))
        return failed(say("row ", row, ", head ", h, ": the LSE of one key is ",
                          number_text(step.result.lse[at]), ", its score ", number_text(want)));
    }
    row += q;
  }
  return compare_prefill(step, reference);
}

}  // namespace mla::prop
