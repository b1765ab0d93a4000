// P44 for the first step of an FA case.
#include <algorithm>

#include "core/numeric/bf16.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/p44_close_bounds/bounded_rows.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/generate/sample.hpp"
#include "properties/step/fa/run.hpp"

namespace mla::prop {
namespace {

RowKeys fa_keys(const FaStepRun& run, std::int64_t pair, const RequestAt& at) {
  const std::int64_t heads = run.layer.heads.count();
  const std::int64_t dim = run.layer.head_dim;
  const auto [q, n] = run.ordered.batch.requests[static_cast<std::size_t>(at.request)];
  const std::int64_t own = n - q + at.row;  // the row's own key
  RowKeys keys{.last = run.spec.causal ? own + 1 : n, .all = n, .value_dims = dim};
  if (run.layer.window >= 0) keys.first = std::max<std::int64_t>(own - run.layer.window, 0);
  const std::uint16_t* query = run.tensors.q.data() + pair * dim;
  std::transform(query, query + dim, std::back_inserter(keys.q), bf16_to_float);
  keys.load = [&run, dim, at, context = n - q, first_row = pair / heads - at.row,
               kv_head = pair % heads / run.layer.group()](std::int64_t j, std::span<double> key,
                                                           std::span<double> value) {
    const fa::Tensors& t = run.tensors;
    const std::int64_t kv_heads = run.layer.kv_heads.count();
    const std::int64_t fresh = ((first_row + j - context) * kv_heads + kv_head) * dim;
    const std::uint16_t* k = t.k.data() + fresh;
    const std::uint16_t* v = t.v.data() + fresh;
    if (j < context) {
      const std::int64_t block = run.layer.block_size;
      const std::int64_t slot = run.ordered.batch.slot(at.request, j) - t.first_block * block;
      k = t.cache.data() + (slot * kv_heads + kv_head) * dim;
      v = k + t.blocks * block * kv_heads * dim;
    }
    std::transform(k, k + dim, key.begin(), bf16_to_float);
    std::transform(v, v + dim, value.begin(), bf16_to_float);
  };
  return keys;
}

}  // namespace

Outcome fa_close_bounds(Subject& subject) {
  const auto& steps = subject.fa();
  if (!steps) return refusal(steps.error());
  const FaStepRun& run = steps->front();
  const std::vector<std::int64_t> merges = bf16_merges(run);
  const cpu::ReferenceResult reference = reference_of(run);
  return close_bounds(
      subject,
      {.batch = run.ordered.batch,
       .heads = run.layer.heads.count(),
       .pairs = sampled_pairs(run.spec, run.ordered.batch.requests),
       .reference = reference,
       .out = run.result.out,
       .lse = {},
       .arithmetic_of =
           [&](const RequestAt& at) {
             return RowArithmetic{.dtype = {Dtype::bf16, Dtype::bf16},
                                  .arch = run.spec.arch,
                                  .output_unit = 0x1p-8,
                                  .score_scale = run.tensors.softmax_scale,
                                  .merges = merges[static_cast<std::size_t>(at.request)]};
           },
       .keys_of = [&](std::int64_t pair, const RequestAt& at) { return fa_keys(run, pair, at); }});
}

}  // namespace mla::prop
