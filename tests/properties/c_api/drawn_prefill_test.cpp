// Claims about prefill steps that are drawn and called through the C interface: scales of Q, K and
// V, which no engine's step has.
#include <bit>
#include <cmath>
#include <cstdlib>
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

std::int64_t cut_prefills = 0;  // that had a tile to merge

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

// Q, K and V as the kernel takes them.
struct Operands {
  explicit Operands(const PrefillStep& step)
      : q(cast(step, step.tensors.q, kQkDim, bytes[0])),
        k(cast(step, step.tensors.k, kQkDim, bytes[1])),
        v(cast(step, step.tensors.v, kVDim, bytes[2])) {}
  std::vector<std::byte> bytes[3];
  aiter_tensor_t q, k, v;

 private:
  static aiter_tensor_t cast(const PrefillStep& step, const std::vector<std::uint16_t>& bits,
                             std::int64_t dim, std::vector<std::byte>& to) {
    const prefill::PrefillShape& shape = step.metadata.shape;
    const std::int64_t rows = step.metadata.rows().count();
    prefill::fp8_operand(prefill::bf16_operand(bits, step.tensors.heads, dim), rows, shape, to);
    return c_tensor(to.data(), MLA_DTYPE_FP8, {rows, shape.heads.kernel.count(), dim});
  }
};

PrefillOutputs fresh_outputs(const PrefillStep& step) {
  const std::int64_t heads = step.metadata.shape.heads.kernel.count();
  const std::int64_t partials = step.plan.num_partial_tiles * prefill::kTileRows * heads;
  const std::int64_t pairs = step.metadata.rows().count() * heads;
  const auto nothing = std::bit_cast<float>(kPoisonF32);
  return {std::vector<float>(static_cast<std::size_t>(partials * kVDim), nothing),
          std::vector<float>(static_cast<std::size_t>(partials), nothing),
          std::vector<std::uint16_t>(static_cast<std::size_t>(pairs * kVDim), kPoisonBf16)};
}

std::string launched(const PrefillStep& step, const Scales& scales, WrongPrefill wrong,
                     PrefillOutputs& to) {
  const std::int64_t heads = step.metadata.shape.heads.kernel.count();
  const std::int64_t rows = step.metadata.rows().count();
  const std::int64_t partials = std::ssize(to.lse) / heads;
  const Operands x(step);
  const auto words = [](const std::vector<std::int32_t>& list) {
    return c_tensor(list.data(), MLA_DTYPE_I32, {std::ssize(list)});
  };
  const SeenPlan& plan = step.plan;
  const aiter_tensor_t lists[] = {words(plan.qo_indptr), words(plan.kv_indptr),
                                  words(plan.kv_indices), words(plan.work_indptr)};
  const aiter_tensor_t works =
      c_tensor(plan.work_info.data(), MLA_DTYPE_I32,
               {std::ssize(plan.work_info) / plan::kWorkItemWords, plan::kWorkItemWords});
  const aiter_tensor_t split = c_tensor(to.split.data(), MLA_DTYPE_FP32, {partials, heads, kVDim});
  const aiter_tensor_t lse = c_tensor(to.lse.data(), MLA_DTYPE_FP32, {partials, heads});
  const aiter_tensor_t out = c_tensor(to.out.data(), MLA_DTYPE_BF16, {rows, heads, kVDim});
  const float given[] = {scales.q.value_or(1), scales.k.value_or(1), scales.v.value_or(1)};
  aiter_tensor_t scale[3];
  for (int i = 0; i < 3; ++i) scale[i] = c_tensor(&given[i], MLA_DTYPE_FP32, {1});
  const bool v_given = scales.v && wrong != WrongPrefill::no_v;
  const mla_prefill_tensors t = {
      .q = &x.q,
      .k = &x.k,
      .v = &x.v,
      .qo_indptr = &lists[0],
      .kv_indptr = &lists[1],
      .kv_page_indices = &lists[2],
      .work_indptr = &lists[3],
      .work_info_set = &works,
      .split_data = &split,
      .split_lse = &lse,
      .output = &out,
      .q_scale = scales.q && wrong != WrongPrefill::no_q ? &scale[0] : nullptr,
      .k_scale = scales.k ? &scale[1] : nullptr,
      .v_scale = v_given ? &scale[wrong == WrongPrefill::v_of_k ? 1 : 2] : nullptr};
  const bool causal = step.spec.causal && wrong != WrongPrefill::not_causal;
  // What the kernel multiplies scores by is the engine's scale again.
  const int status = mla_prefill(c_arch(step.spec.arch), causal ? 1 : 0, &t,
                                 step.tensors.softmax_scale / given[0] / given[1]);
  return status == MLA_OK ? "" : say("prefill: ", mla_last_error(), mla_last_report());
}

CalledPrefill called_prefill(const PrefillStep& step, const Scales& scales, WrongPrefill wrong) {
  const HeadPadding& padding = step.metadata.shape.heads;
  const std::int64_t heads = padding.kernel.count();
  PrefillOutputs to = fresh_outputs(step);
  if (std::string bad = launched(step, scales, wrong, to); !bad.empty()) return {bad, {}};
  if (std::string bad = merged(step, heads, to); !bad.empty()) return {bad, {}};
  CalledPrefill found;
  for (std::int64_t row = 0; row < step.metadata.rows().count(); ++row)
    for (std::int64_t h = 0; h < step.tensors.heads; ++h) {
      const auto from = to.out.begin() + (row * heads + padding.position(h)) * kVDim;
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

Outcome prefill_holds(Case c, WrongPrefill wrong) {
  if (c.kind() != StepKind::prefill) return skipped("no prefill");
  // Tiles are cut on few compute units for each head.
  c.compute_units = Random(c, "units").pick<std::int64_t>({16, 32, 40, 80, 128, c.compute_units});
  Subject subject(c, cpu_backend(), nullptr);
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  if (!step.metadata.fp8 || step.metadata.context) return skipped("no plan, or a context");
  if (step.plan.num_partial_tiles > 0) ++cut_prefills;
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
  cut_prefills = 0;
  require_drawn(prefills(30));
  INFO(cut_prefills);
  if (std::getenv("MLA_DRAWN_CASE") == nullptr) CHECK(cut_prefills > 0);
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
