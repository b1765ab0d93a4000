#include "properties/app/explain_result.hpp"

#include <cmath>
#include <vector>

#include "core/say.hpp"
#include "properties/generate/cost.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/text.hpp"

namespace mla::app {
namespace {

using prop::short_text;

struct Scales {
  std::string what;
  float softmax = 1;
  float q = 1;
  float kv = 1;  // of keys, and of values where `values` is not given
  std::optional<float> values = {};
};

// Widths that a softmax scale is taken of: the latent part, the heads before absorption, the row of
// the cache, the value head.
std::vector<std::int64_t> scale_widths(const RowWidths& w) {
  return {w.latent().count(), 128 + w.rope().count(), w.key().count(), 128};
}

std::vector<Scales> candidates(const DecodeTensors& t) {
  std::vector<Scales> out;
  const auto add = [&](Scales scales) {
    const float was = t.softmax_scale * t.q_scale * t.kv_scale;
    const float is = scales.softmax * scales.q * scales.kv;
    const bool same =
        std::fabs(is / was - 1) < 1e-3F && scales.values.value_or(scales.kv) == t.kv_scale;
    if (!same) out.push_back(std::move(scales));
  };
  for (const std::int64_t width : scale_widths(t.cache.widths)) {
    const float softmax = 1 / std::sqrt(static_cast<float>(width));
    add({say("the softmax scale is ", short_text(softmax), ", 1/sqrt(", width, "), in place of ",
             short_text(t.softmax_scale)),
         softmax, t.q_scale, t.kv_scale});
  }
  add({say("q_scale, ", short_text(t.q_scale), ", is left out"), t.softmax_scale, 1, t.kv_scale});
  add({say("kv_scale, ", short_text(t.kv_scale), ", is left out"), t.softmax_scale, t.q_scale, 1});
  add({say("kv_scale, ", short_text(t.kv_scale), ", is left out of the values alone"),
       t.softmax_scale, t.q_scale, t.kv_scale, 1});
  add({say("kv_scale, ", short_text(t.kv_scale), ", is left out of the keys alone"),
       t.softmax_scale, t.q_scale, 1, t.kv_scale});
  return out;
}

cpu::ReferenceResult reference_with(const dump::CapturedStep& step, DecodeTensors& tensors,
                                    const Scales& scales) {
  tensors.softmax_scale = scales.softmax;
  tensors.q_scale = scales.q;
  tensors.kv_scale = scales.kv;
  cpu::ReferenceResult out = cpu::dense_reference({.batch = step.batch,
                                                   .tensors = tensors,
                                                   .arch = step.spec.arch,
                                                   .dtype = step.spec.dtype,
                                                   .model_heads = step.spec.heads,
                                                   .causal = step.spec.causal});
  if (!scales.values) return out;
  const double factor = *scales.values / scales.kv;
  for (std::size_t i = 0; i < out.out.size(); ++i) {
    out.out[i] *= factor;
    out.out_bound[i] *= factor;
  }
  return out;
}

}  // namespace

std::optional<std::string> explaining_scale(const dump::CapturedStep& step,
                                            const DecodeResult& result) {
  if (result.out.empty() || prop::why_not_executed(step.spec, {})) return std::nullopt;
  DecodeTensors tensors = step.tensors;
  for (const Scales& scales : candidates(step.tensors)) {
    cpu::ReferenceResult wanted = reference_with(step, tensors, scales);
    if (result.lse.empty()) wanted.lse.clear();
    const auto outcome = prop::compare({.result = result,
                                        .reference = wanted,
                                        .metadata = step.metadata,
                                        .requests = step.batch.requests,
                                        .heads = step.spec.heads});
    if (outcome.verdict == prop::Verdict::pass)
      return scales.what + ": then every element is within its bound";
  }
  return std::nullopt;
}

}  // namespace mla::app
