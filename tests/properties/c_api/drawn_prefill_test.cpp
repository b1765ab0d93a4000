// Claims about prefill steps that are drawn and called through the C interface: scales of Q, K and
// V, which no engine's step has.
#include <bit>
#include <cmath>
#include <optional>

#include "core/engine/prefill/operands.hpp"
#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/prefill/run.hpp"
#include "properties/step/subject.hpp"
#include "tests/properties/c_api/caller.hpp"
#include "tests/properties/drawn.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;
using namespace mla::test;
using prefill::kQkDim;
using prefill::kVDim;

namespace {

// Of a call; nothing: the caller leaves it out.
struct Scales {
  std::optional<float> q, k, v;
};

enum class WrongPrefill : std::uint8_t { nothing, no_v, no_q, v_of_k, not_causal };

// Powers of two, that no rounding changes; one of V may be any.
Scales drawn_scales(Random& random) {
  const auto power = [&]() -> std::optional<float> {
    const std::int64_t e = random.between(-4, 4);
    return e == -4 ? std::nullopt : std::optional(std::ldexp(1.0F, static_cast<int>(e)));
  };
  Scales out{power(), power(), power()};
  if (random.below(2) == 0) out.v = static_cast<float>(random.between(1, 999)) / 300.0F;
  return out;
}

bool is_power(float x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5F;
}

struct CalledPrefill {
  std::string bad;
  std::vector<std::uint16_t> out;  // of the model's heads
};

struct PrefillOutputs {
  std::vector<float> split, lse;
  std::vector<std::uint16_t> out;
};

std::string merged(const PrefillStep& step, std::int64_t heads, PrefillOutputs& to) {
  const auto words = [](const std::vector<std::int32_t>& list) {
    return c_tensor(list.data(), MLA_DTYPE_I32, {std::ssize(list)});
  };
  const std::int64_t partials = std::ssize(to.lse) / heads;
  const std::int64_t rows = std::ssize(to.out) / (heads * kVDim);
  const aiter_tensor_t po = c_tensor(to.split.data(), MLA_DTYPE_FP32, {partials, heads, kVDim});
  const aiter_tensor_t pl = c_tensor(to.lse.data(), MLA_DTYPE_FP32, {partials, heads});
  const aiter_tensor_t indptr = words(step.plan.reduce_indptr);
  const aiter_tensor_t map = c_tensor(step.plan.reduce_final_map.data(), MLA_DTYPE_I32,
                                      {std::ssize(step.plan.reduce_final_map) / 2, 2});
  const aiter_tensor_t partial_map = words(step.plan.reduce_partial_map);
  const aiter_tensor_t out = c_tensor(to.out.data(), MLA_DTYPE_BF16, {rows, heads, kVDim});
  const mla_reduce_tensors t = {&po, &pl, &indptr, &map, &partial_map, &out, nullptr};
  const int status = mla_reduce(c_arch(step.spec.arch), &t);
  return status == MLA_OK ? "" : say("reduce: ", mla_last_error(), mla_last_report());
}

CalledPrefill called_prefill(const PrefillStep& step, const Scales& scales, WrongPrefill wrong) {
  const prefill::PrefillTensors& tensors = step.tensors;
  const std::int64_t heads = step.metadata.shape.heads.kernel.count();
  const std::int64_t rows = step.metadata.rows().count();
  std::vector<std::byte> bytes[3];
  const auto operand = [&](const std::vector<std::uint16_t>& bits, std::int64_t dim,
                           std::vector<std::byte>& to) {
    prefill::fp8_operand(prefill::bf16_operand(bits, tensors.heads, dim), rows, step.metadata.shape,
                         to);
    return c_tensor(to.data(), MLA_DTYPE_FP8, {rows, heads, dim});
  };
  const aiter_tensor_t q = operand(tensors.q, kQkDim, bytes[0]);
  const aiter_tensor_t k = operand(tensors.k, kQkDim, bytes[1]);
  const aiter_tensor_t v = operand(tensors.v, kVDim, bytes[2]);
  const auto words = [](const std::vector<std::int32_t>& list) {
    return c_tensor(list.data(), MLA_DTYPE_I32, {std::ssize(list)});
  };
  const aiter_tensor_t qo_indptr = words(step.plan.qo_indptr);
  const aiter_tensor_t kv_indptr = words(step.plan.kv_indptr);
  const aiter_tensor_t indices = words(step.plan.kv_indices);
  const aiter_tensor_t work_indptr = words(step.plan.work_indptr);
  const aiter_tensor_t works =
      c_tensor(step.plan.work_info.data(), MLA_DTYPE_I32,
               {std::ssize(step.plan.work_info) / plan::kWorkItemWords, plan::kWorkItemWords});
  const std::int64_t partials = step.plan.num_partial_tiles * prefill::kTileRows;
  const auto nothing = std::bit_cast<float>(kPoisonF32);
  PrefillOutputs to{
      std::vector<float>(static_cast<std::size_t>(partials * heads * kVDim), nothing),
      std::vector<float>(static_cast<std::size_t>(partials * heads), nothing),
      std::vector<std::uint16_t>(static_cast<std::size_t>(rows * heads * kVDim), kPoisonBf16)};
  const aiter_tensor_t split = c_tensor(to.split.data(), MLA_DTYPE_FP32, {partials, heads, kVDim});
  const aiter_tensor_t lse = c_tensor(to.lse.data(), MLA_DTYPE_FP32, {partials, heads});
  const aiter_tensor_t out = c_tensor(to.out.data(), MLA_DTYPE_BF16, {rows, heads, kVDim});
  const float given[] = {scales.q.value_or(1), scales.k.value_or(1), scales.v.value_or(1)};
  const aiter_tensor_t scale[] = {c_tensor(&given[0], MLA_DTYPE_FP32, {1}),
                                  c_tensor(&given[1], MLA_DTYPE_FP32, {1}),
                                  c_tensor(&given[2], MLA_DTYPE_FP32, {1})};
  const mla_prefill_tensors t = {
      .q = &q,
      .k = &k,
      .v = &v,
      .qo_indptr = &qo_indptr,
      .kv_indptr = &kv_indptr,
      .kv_page_indices = &indices,
      .work_indptr = &work_indptr,
      .work_info_set = &works,
      .split_data = &split,
      .split_lse = &lse,
      .output = &out,
      .q_scale = scales.q && wrong != WrongPrefill::no_q ? &scale[0] : nullptr,
      .k_scale = scales.k ? &scale[1] : nullptr,
      .v_scale = !scales.v || wrong == WrongPrefill::no_v
                     ? nullptr
                     : &scale[wrong == WrongPrefill::v_of_k ? 1 : 2]};
  const bool causal = step.spec.causal && wrong != WrongPrefill::not_causal;
  // What the kernel multiplies scores by is the engine's scale again.
  if (mla_prefill(c_arch(step.spec.arch), causal ? 1 : 0, &t,
                  tensors.softmax_scale / given[0] / given[1]) != MLA_OK)
    return {say("prefill: ", mla_last_error(), mla_last_report()), {}};
  if (std::string bad = merged(step, heads, to); !bad.empty()) return {bad, {}};
  CalledPrefill found;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t h = 0; h < tensors.heads; ++h) {
      const auto from =
          to.out.begin() + (row * heads + step.metadata.shape.heads.position(h)) * kVDim;
      found.out.insert(found.out.end(), from, from + kVDim);
    }
  return found;
}

// Value and bound of the reference, times the scale: one more product of float32 for each element.
cpu::ReferenceResult scaled(const cpu::ReferenceResult& of, float v) {
  cpu::ReferenceResult out = of;
  const double scale = v;
  for (std::size_t i = 0; i < out.out.size(); ++i) {
    out.out[i] *= scale;
    if (out.out_bound[i] == cpu::kNotEvaluated) continue;
    out.out_bound[i] = scale * of.out_bound[i] * (1 + 0x1p-23) + std::fabs(out.out[i]) * 0x1p-23;
  }
  return out;
}

Outcome prefill_holds(const Case& c, WrongPrefill wrong) {
  if (c.kind() != StepKind::prefill) return skipped("no prefill");
  Subject subject(c, cpu_backend(), nullptr);
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  if (!step.metadata.fp8 || step.metadata.context) return skipped("no plan, or a context");
  Random random(c, "drawn prefill");
  const Scales scales = drawn_scales(random);
  const float v = scales.v.value_or(1);
  CalledPrefill found = called_prefill(step, scales, wrong);
  if (!found.bad.empty()) return failed(found.bad);
  for (std::size_t i = 0; i < found.out.size() && is_power(v); ++i)
    if (const float plain = bf16_to_float(step.result.out[i]);
        bf16_to_float(found.out[i]) != plain * v)
      return failed(say("element ", i, " is ", bf16_to_float(found.out[i]), " with v_scale ", v,
                        ", and ", plain, " without"));
  return compare_elements({.out = found.out,
                           .lse = step.result.lse,
                           .faults = step.result.faults,
                           .reference = scaled(subject.prefill_reference(), v),
                           .requests = step.batch.requests,
                           .heads = step.tensors.heads,
                           .dims = kVDim});
}

DrawnClaim prefills(std::int64_t cases, WrongPrefill wrong = WrongPrefill::nothing,
                    std::uint64_t seed = 1) {
  return {
      "drawn calls: scales of a prefill change its output by v_scale alone, within the "
      "reference's bounds",
      {Regime::planned_prefill},
      cases,
      [wrong](const Case& c) { return prefill_holds(c, wrong); },
      seed};
}

}  // namespace

TEST_CASE(
    "drawn calls: scales of a prefill change its output by v_scale alone, within the "
    "reference's bounds",
    "[c_api][drawn]") {
  require_drawn(prefills(20));
}

TEST_CASE("drawn calls: what a caller of a prefill gets wrong is noticed", "[c_api][drawn]") {
  for (const WrongPrefill wrong :
       {WrongPrefill::no_v, WrongPrefill::no_q, WrongPrefill::v_of_k, WrongPrefill::not_causal}) {
    INFO(static_cast<int>(wrong));
    require_noticed(prefills(30, wrong));
  }
}

TEST_CASE("drawn calls of a prefill, many", "[.nightly]") {
  require_drawn(prefills(300, WrongPrefill::nothing, 2));
}
