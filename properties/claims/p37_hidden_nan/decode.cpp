// P37: a NaN or an infinity in a key leaves every bit of the rows that must not see it as it was.
//
// A key of a later draft token may hold anything. A kernel that multiplies its value by a
// probability of 0 makes NaN of it; finite keys, as P13 has them, do not show that. What becomes of
// a row that does see the key is open but for one thing: it changes.
#include <cstring>

#include "core/engine/run_decode.hpp"
#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/key_target.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

struct Poison {
  const char* name = "NaN";
  bool is_nan = true;
  bool whole_key = true;  // otherwise one latent element, which is also a value
};

// No fp8 variant of the cache has an infinity.
Poison choose_poison(Random& random, Dtype dtype) {
  const std::int64_t choice = random.below(3);
  if (choice == 0 && dtype == Dtype::bf16) return {"infinity", false, true};
  return {"NaN", true, choice != 1};
}

void put(const Poison& poison, std::byte* key, std::int64_t d, Dtype dtype, Fp8Variant variant) {
  if (dtype == Dtype::fp8) {
    key[d] = std::byte{fp8_nan(variant)};
    return;
  }
  const std::uint16_t bits = poison.is_nan ? kBf16Nan : kBf16Infinity;
  std::memcpy(key + d * 2, &bits, sizeof bits);
}

Outcome decode_hidden_nan(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  const Case& c = subject.spec();
  const Result<Batch> batch = make_batch(c);  // as written: what the rows are entitled to
  if (!batch) return refusal(batch.error());
  const KeyTarget target = key_of_last_rows(c, *batch, "P37");
  if (target.request < 0) return skipped("no request has a row and a key");

  Random random(c, "P37 value");
  const Poison poison = choose_poison(random, c.dtype.kv);
  DecodeTensors tensors = *subject.tensors();
  std::byte* const key = tensors.cache.bytes.data() +
                         (target.slot - tensors.cache.first_slot) * tensors.cache.row_bytes();
  const std::int64_t first = poison.whole_key ? 0 : random.below(c.widths().value().count());
  const std::int64_t last = poison.whole_key ? c.widths().key().count() : first + 1;
  for (std::int64_t d = first; d < last; ++d) put(poison, key, d, c.dtype.kv, subject.shape()->fp8);
  // Values are cleaned in the order of some schedule: P31 sees finite ones only.
  const auto again = run_decode(
      subject.backend(), {*subject.metadata(), tensors},
      {.schedule_seed = random.next(), .threads = 0, .record_stages = false}, subject.hooks());
  if (!again) return refusal(again.error());

  const std::string holds = say("key ", target.position, " of ", request_name(target.request),
                                " holds ", poison.name, ", and ");
  std::int64_t row = 0;
  for (std::size_t r = 0; r < batch->requests.size(); ++r)
    for (std::int64_t i = 0; i < batch->requests[r].qo_len; ++i, ++row) {
      const MatchedRows same{row, row, 1};
      const auto why = bitwise_difference(*result, *again, c.heads, std::span(&same, 1));
      const bool visible = may_see(c, *batch, static_cast<std::int64_t>(r), i, target.slot);
      if (why && !visible)
        return failed(holds + row_name(batch->requests, row) +
                      ", which must not see it, changes: " + *why);
      if (!why && visible && poison.is_nan)
        return failed(holds + row_name(batch->requests, row) + ", which sees it, does not change");
    }
  return passed();
}

}  // namespace

constexpr Property kP37{
    "P37", "hidden_nan",
    "A NaN or infinity in a key changes no bit of the rows that must not see it.",
    by_kind<decode_hidden_nan, prefill_hidden_nan, nullptr>};

}  // namespace mla::prop
