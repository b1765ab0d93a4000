// P37 for prefill: a NaN in a new key or its value, or an infinity in the value, stays out of the
// rows before it and of every other request.
//
// A row that sees it shows it: a kernel that cleans values for the rows that must not see them may
// lose a NaN for those that do, or take an infinity for another. Where only elements of the value
// are poisoned there is one in each half: waves share out the columns, and one that overlooks an
// element would find it by another of its own.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/key_target.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

constexpr std::uint16_t kBf16MinusInfinity = 0xFF80;
constexpr std::int64_t kWaveColumns = 64;
constexpr std::int64_t kTileKeys = 32;  // of the kernels for AMD

// An element of the value of the poisoned key, in every head.
struct PoisonedColumn {
  std::int64_t element = 0;
  std::uint16_t bits = kBf16Nan;
};

// Empty: the whole key and value hold NaN.
std::vector<PoisonedColumn> choose_poison(Random& random, bool infinities) {
  std::vector<PoisonedColumn> out;
  if (random.below(4) == 0) return out;
  for (std::int64_t first = 0; first < prefill::kVDim; first += kWaveColumns) {
    constexpr std::array<std::uint16_t, 4> kBits{kBf16Nan, kBf16Infinity, kBf16MinusInfinity,
                                                 kBf16Infinity};
    const auto kind = static_cast<std::size_t>(random.below(4));
    out.push_back({first + random.below(kWaveColumns), infinities ? kBits[kind] : kBf16Nan});
  }
  return out;
}

// Which of the request's new keys: any, or the first one of a tile of the kernel, or the one before
// it. Rows come in blocks of two tiles, so that a block has rows before an odd tile and after it.
std::int64_t choose_key(Random& random, std::int64_t new_keys) {
  const std::int64_t any = random.below(new_keys);
  const std::int64_t kind = random.below(3);
  const std::int64_t odd_tiles = (new_keys - 1 + kTileKeys) / (2 * kTileKeys);
  if (kind == 0 || odd_tiles == 0) return any;
  return (2 * random.below(odd_tiles) + 1) * kTileKeys - (kind == 1 ? 1 : 0);
}

void put(prefill::PrefillTensors& t, std::int64_t row, const std::vector<PoisonedColumn>& poison) {
  for (std::int64_t head = 0; head < t.heads; ++head) {
    const std::int64_t pair = row * t.heads + head;
    for (const PoisonedColumn& p : poison)
      t.v[static_cast<std::size_t>(pair * prefill::kVDim + p.element)] = p.bits;
    if (!poison.empty()) continue;
    std::fill_n(t.k.begin() + pair * prefill::kQkDim, prefill::kQkDim, kBf16Nan);
    std::fill_n(t.v.begin() + pair * prefill::kVDim, prefill::kVDim, kBf16Nan);
  }
}

// How a row of `b` differs from that of `a`.
DamageSet changed(const PrefillStep& a, const PrefillStep& b, std::int64_t row) {
  const std::int64_t width = a.spec.heads * prefill::kVDim;
  DamageSet out;
  for (auto at = static_cast<std::size_t>(row * width);
       at < static_cast<std::size_t>((row + 1) * width); ++at)
    if (a.result.out[at] != b.result.out[at])
      out.add(std::isnan(bf16_to_float(b.result.out[at])) ? Damage::nan : Damage::value);
  return out;
}

// How much the key of row `key` weighs in a row that sees it: e^(score - LSE). Of bf16 steps.
double weight(const PrefillStep& step, std::int64_t row, std::int64_t key, std::int64_t head) {
  const prefill::PrefillTensors& t = step.tensors;
  const std::int64_t q = (row * t.heads + head) * prefill::kQkDim;
  const std::int64_t k = (key * t.heads + head) * prefill::kQkDim;
  double sum = 0;
  for (std::int64_t d = 0; d < prefill::kQkDim; ++d)
    sum += double{bf16_to_float(t.q[static_cast<std::size_t>(q + d)])} *
           bf16_to_float(t.k[static_cast<std::size_t>(k + d)]);
  const auto at = static_cast<std::size_t>(row * step.spec.heads + head);
  return std::exp(sum * double{t.softmax_scale} - double{step.result.lse[at]});
}

// What a row that sees the poisoned key must show of it, and does not. An infinity times a weight
// that is rounded to 0 is NaN. No factor of a weight above 2^-60 is: probabilities, rescales and
// weights of merges are at least the weight.
std::optional<std::string> lost(const PrefillStep& step, const PrefillStep& other, std::int64_t row,
                                std::int64_t key, const std::vector<PoisonedColumn>& poison) {
  for (std::int64_t head = 0; head < step.spec.heads; ++head) {
    const std::int64_t at = (row * step.spec.heads + head) * prefill::kVDim;
    const auto shows = [&](std::int64_t element) {
      return other.result.out[static_cast<std::size_t>(at + element)];
    };
    if (poison.empty())
      for (std::int64_t d = 0; d < prefill::kVDim; ++d)
        if (!std::isnan(bf16_to_float(shows(d)))) return say("is no NaN in element ", d);
    for (const PoisonedColumn& p : poison) {
      const std::uint16_t got = shows(p.element);
      if (p.bits != kBf16Nan && got == p.bits) continue;
      const bool nan = std::isnan(bf16_to_float(got));
      if (nan && (p.bits == kBf16Nan || weight(step, row, key, head) < 0x1p-60)) continue;
      return say("has ", bf16_to_float(got), " in element ", p.element, " of head ", head);
    }
  }
  return std::nullopt;
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
  Random random(step.spec, "P37 value");
  const std::int64_t hidden_rows = choose_key(random, r.qo_len);  // before the key's own
  const std::int64_t key = begin + hidden_rows;
  // No fp8 value is infinite.
  const std::vector<PoisonedColumn> poison =
      choose_poison(random, step.spec.dtype.both(Dtype::bf16));
  const auto change = [&](prefill::PrefillTensors& t) { put(t, key, poison); };
  // Values are cleaned in the order of some schedule: P31 sees finite ones only.
  Case scheduled = step.spec;
  scheduled.schedule_seed = random.next();
  const auto again = run_prefill({scheduled}, subject.context(), {.change = change});
  if (!again) return refusal(again.error());
  const PrefillStep& other = *again->steps.front();
  std::string holds = "NaN";
  for (const PoisonedColumn& p : poison)
    holds += say(&p == poison.data() ? " or infinity in elements " : ", ", p.element);
  Outcome outcome;
  for (std::int64_t row = 0; row < step.batch.rows().count(); ++row) {
    const bool in_request = row >= begin && row < begin + r.qo_len;
    const bool sees = in_request && (!step.spec.causal || row - begin >= hidden_rows);
    std::optional<std::string> why;
    if (sees) {
      why = lost(step, other, row, key, poison);
      if (why) {
        *why = ", which sees it, " + *why;
        outcome.damage.add(Damage::value);
      }
    } else if (const DamageSet damage = changed(step, other, row); !damage.none()) {
      why = ", which must not see it, changes";
      outcome.damage.add(damage);
    }
    if (!why || outcome.verdict == Verdict::fail) continue;
    outcome.verdict = Verdict::fail;
    outcome.message =
        say("key ", r.kv_len - r.qo_len + hidden_rows, " of ", request_name(target.request),
            " holds ", holds, ", and ", row_name(step.batch.requests, row), *why);
  }
  return outcome;
}

}  // namespace mla::prop
