// P16: an fp8 tensor and its scale stand for a product: doubling one and halving the other changes
// no bit, but where an instruction flushes denormal numbers. A tensor that is not quantised knows
// no scale, and a scale that covers the data saturates nothing.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/engine/run_decode.hpp"
#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/generate/tensors.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

// Doubles every element if that is exact for all of them; NaN stays NaN.
bool double_fp8(std::vector<std::byte>& bytes, Fp8Variant variant) {
  std::vector<std::byte> doubled(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const float value = fp8_to_float(static_cast<std::uint8_t>(bytes[i]), variant);
    if (std::fabs(value) * 2 > fp8_max(variant)) return false;
    doubled[i] = std::isnan(value) ? bytes[i] : std::byte{fp8_from_float(value * 2, variant)};
  }
  bytes = std::move(doubled);
  return true;
}

// Elements of the largest finite magnitude, as a cast that saturates leaves them.
std::int64_t at_the_limit(const std::vector<std::byte>& bytes, Fp8Variant variant) {
  return std::count_if(bytes.begin(), bytes.end(), [variant](std::byte b) {
    return std::fabs(fp8_to_float(static_cast<std::uint8_t>(b), variant)) == fp8_max(variant);
  });
}

// Data that stays far below the limit under its scale must not touch it, in no part of a row.
std::optional<std::string> check_saturation(Subject& subject) {
  const Case& c = subject.spec();
  const Result<Batch> batch = make_batch(c);
  const bool quiet =
      c.data.kind == Distribution::normal && c.decode().q_scale >= 1 && c.decode().kv_scale >= 1;
  if (!quiet || !batch) return std::nullopt;
  const Fp8Variant variant = fp8_variant(c.arch);
  const DecodeTensors& t = *subject.tensors();
  const std::int64_t q = c.dtype.q == Dtype::fp8 ? at_the_limit(t.q, variant) : 0;
  const std::int64_t kv = c.dtype.kv == Dtype::fp8 ? at_the_limit(t.cache.bytes, variant) : 0;
  if (q + kv == 0 && saturated_elements(c, *batch) == 0) return std::nullopt;
  return say(q, " elements of the query and ", kv,
             " of the cache saturate, although the scales cover the data");
}

// The same products in other factors; says which, or nothing if there is no other way to put them.
std::string rescale(const Case& c, DecodeTensors& t) {
  const Fp8Variant variant = fp8_variant(c.arch);
  std::string what;
  if (c.dtype.kv == Dtype::fp8 && double_fp8(t.cache.bytes, variant)) {
    t.kv_scale /= 2;
    what = "the cache doubled and its scale halved";
  }
  if (c.dtype.q == Dtype::fp8 && double_fp8(t.q, variant)) {
    t.q_scale /= 2;
    what += say(what.empty() ? "" : ", ", "the query doubled and its scale halved");
  }
  return what;
}

// Whether the results differ by no more than what is flushed to 0 at one scale and not at the
// other: the smallest normal number for each key and the result, times the scale of the values
// (vdpbf16ps).
bool only_flushed(const DecodeResult& a, const DecodeResult& b, const Case& c) {
  std::int64_t longest = 0;
  for (const RequestSpec& r : c.requests) longest = std::max(longest, r.kv_len);
  const double most = static_cast<double>(longest + 1) * double{std::numeric_limits<float>::min()} *
                      std::max(1.0, double{c.decode().kv_scale});
  return std::equal(a.lse.begin(), a.lse.end(), b.lse.begin(), b.lse.end()) &&
         std::equal(a.out.begin(), a.out.end(), b.out.begin(), b.out.end(),
                    [most](std::uint16_t x, std::uint16_t y) {
                      return x == y ||
                             std::fabs(double{bf16_to_float(x)} - bf16_to_float(y)) <= most;
                    });
}

// A bf16 tensor next to another declared scale.
Outcome check_unquantised(Subject& subject) {
  Case scaled = subject.spec();
  if (scaled.dtype.q == Dtype::bf16) scaled.decode().q_scale *= 4;
  if (scaled.dtype.kv == Dtype::bf16) scaled.decode().kv_scale *= 0.0625F;
  Subject other = subject.sibling(scaled);
  const auto& result = other.result();
  if (!result) return failed("a step with unused scales is refused: " + result.error().message);
  if (const auto why = bitwise_difference(*subject.result(), *result, scaled.heads))
    return failed("a bf16 tensor is scaled: " + *why);
  return passed();
}

Outcome decode_scale_equivariance(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  const Case& c = subject.spec();
  const DecodeTensors& t = *subject.tensors();
  if (c.dtype.q == Dtype::bf16 && t.q_scale != 1)
    return failed(say("the bf16 query carries the scale ", t.q_scale));
  if (c.dtype.kv == Dtype::bf16 && t.kv_scale != 1)
    return failed(say("the bf16 cache carries the scale ", t.kv_scale));
  if (const auto why = check_saturation(subject)) return failed(*why);
  if (c.dtype.both(Dtype::bf16)) return check_unquantised(subject);
  DecodeTensors rescaled = t;
  const std::string what = rescale(c, rescaled);
  if (what.empty()) return skipped("no fp8 tensor can be doubled exactly");
  const auto again = run_decode(
      subject.backend(), {*subject.metadata(), rescaled},
      {.schedule_seed = c.schedule_seed, .threads = 0, .record_stages = false}, subject.hooks());
  if (!again) return failed("with " + what + " the run fails: " + again.error().message);
  const auto why = bitwise_difference(*result, *again, c.heads);
  if (why && !only_flushed(*result, *again, c))
    return failed("with " + what + " the result differs: " + *why);
  return passed();
}

}  // namespace

constexpr Property kP16{
    "P16", "scale_equivariance",
    "Doubling fp8 data and halving its scale changes no bit of a normal number; bf16 has no scale.",
    by_kind<decode_scale_equivariance, nullptr, nullptr>};

}  // namespace mla::prop
