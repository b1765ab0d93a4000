// P37 for prefill: a NaN in a new key or its value, or an infinity in the value, stays out of the
// rows before it and of every other request.
//
// A row that sees it is not finite: a kernel that cleans values for the rows that must not see them
// may lose the NaN for those that do, where the key has none.
#include <algorithm>
#include <cmath>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/key_target.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

constexpr std::uint16_t kBf16Nan = 0x7FC0;
constexpr std::uint16_t kBf16Infinity = 0x7F80;

// Of every head: NaN in the whole key and value, or `bits` in one element of the value.
void put(prefill::PrefillTensors& t, std::int64_t row, std::optional<std::int64_t> element,
         std::uint16_t bits) {
  for (std::int64_t head = 0; head < t.heads; ++head) {
    const std::int64_t pair = row * t.heads + head;
    if (element) {
      t.v[static_cast<std::size_t>(pair * prefill::kVDim + *element)] = bits;
      continue;
    }
    std::fill_n(t.k.begin() + pair * prefill::kQkDim, prefill::kQkDim, kBf16Nan);
    std::fill_n(t.v.begin() + pair * prefill::kVDim, prefill::kVDim, kBf16Nan);
  }
}

bool same_row(const PrefillStep& a, const PrefillStep& b, std::int64_t row) {
  const std::int64_t width = a.spec.heads * prefill::kVDim;
  return std::equal(a.result.out.begin() + row * width, a.result.out.begin() + (row + 1) * width,
                    b.result.out.begin() + row * width);
}

// Whether the row is NaN or infinite in this element of every head, or in all.
bool is_infinite(const PrefillStep& step, std::int64_t row, std::optional<std::int64_t> element) {
  const std::int64_t first = element.value_or(0);
  const std::int64_t last = element ? first + 1 : prefill::kVDim;
  for (std::int64_t head = 0; head < step.spec.heads; ++head)
    for (std::int64_t d = first; d < last; ++d) {
      const std::int64_t at = (row * step.spec.heads + head) * prefill::kVDim + d;
      if (std::isfinite(bf16_to_float(step.result.out[static_cast<std::size_t>(at)]))) return false;
    }
  return true;
}

}  // namespace

Outcome prefill_hidden_nan(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  const KeyTarget target = key_of_last_rows(step.spec, step.batch, "P37");
  if (target.request < 0) return skipped("no request has a row and a key");
  const RequestSpec& r = step.batch.requests[static_cast<std::size_t>(target.request)];
  const std::int64_t begin = first_row(step.batch, target.request);
  const std::int64_t hidden_rows = target.position - (r.kv_len - r.qo_len);  // before the key's own
  Random random(step.spec, "P37 value");
  std::optional<std::int64_t> element;
  if (random.below(2) == 0) element = random.below(prefill::kVDim);
  // No fp8 value is infinite.
  const bool infinity = element && step.spec.dtype.both(Dtype::bf16) && random.below(2) == 0;
  const auto change = [&](prefill::PrefillTensors& t) {
    put(t, begin + hidden_rows, element, infinity ? kBf16Infinity : kBf16Nan);
  };
  const auto again = run_prefill({step.spec}, subject, {.change = change});
  if (!again) return refusal(again.error());
  const PrefillStep& other = *again->steps.front();
  for (std::int64_t row = 0; row < step.batch.rows().count(); ++row) {
    const bool in_request = row >= begin && row < begin + r.qo_len;
    const bool sees = in_request && (!step.spec.causal || row - begin >= hidden_rows);
    if (sees ? is_infinite(other, row, element) : same_row(step, other, row)) continue;
    const std::string where =
        element ? say("element ", *element, " of the value of key ") : std::string("key ");
    return failed(
        say(where, target.position, " of ", request_name(target.request), " holds ",
            infinity ? "infinity" : "NaN", ", and ", row_name(step.batch.requests, row),
            sees ? ", which sees it, is finite there" : ", which must not see it, changes"));
  }
  return passed();
}

}  // namespace mla::prop
