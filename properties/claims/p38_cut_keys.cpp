// P38: where the keys are cut no key is lost: a row whose query equals the first or last key of a
// piece finds that key, and no row finds the key after its last.
//
// One light key among thousands moves a result by less than rounding does
// (docs/reference/numerics.md), so comparing numbers cannot see it missing. A query that equals a
// key gives that key nearly all the weight of the row: losing it changes the output and the LSE by
// far more than any bound.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/engine/run_decode.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/stored_row.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/claims/support/topology.hpp"
#include "properties/generate/tensors.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

// A missing key among so few leaves the bound of any data.
constexpr std::int64_t kFewKeys = 64;
// Score of a key that its query equals. Other keys of random data reach about a fifth of it: e^32
// of them would be needed to outweigh the one.
constexpr double kScore = 40;
constexpr float kLargestQuery = 200;  // finite in both fp8 variants

// The keys of a request on both sides of every cut. Pieces that leave a gap or overlap show in what
// the keys beside them do.
std::vector<std::int64_t> cut_positions(const DecodeMetadata& md, const Topology& topology,
                                        std::int64_t first_row, const RequestSpec& spec) {
  std::set<std::int64_t> at{0, spec.kv_len - 1};
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    for (const std::int64_t position : {begin - 1, begin, end - 1, end})
      if (position >= 0 && position < spec.kv_len) at.insert(position);
  };
  for (std::int64_t i = 0; i < spec.qo_len; ++i)
    for (const auto& [a, b] : topology.pieces[static_cast<std::size_t>(first_row + i)]) {
      if (md.plan) {
        add(a * md.shape.page_size, b * md.shape.page_size);
        continue;
      }
      for (std::int64_t tile = 0; tile * b < spec.kv_len; ++tile) add(tile * b, (tile + 1) * b);
    }
  return {at.begin(), at.end()};
}

// Makes the query of one (row, head) pair equal to a key, but for a factor.
void look_for(DecodeTensors& t, const Case& c, std::int64_t pair, std::int64_t slot) {
  const Fp8Variant fp8 = fp8_variant(c.arch);
  const std::byte* key = t.cache.bytes.data() + (slot - t.cache.first_slot) * t.cache.row_bytes();
  std::byte* query = t.q.data() + pair * c.widths().key_bytes(c.dtype.q);
  const std::int64_t dims = c.widths().key().count();
  double square = 0;
  float largest = 0;
  for (std::int64_t d = 0; d < dims; ++d) {
    const float k = stored_element(key, d, c.dtype.kv, fp8);
    square += double{k} * k;
    largest = std::max(largest, std::fabs(k));
  }
  if (square == 0) return;
  const double scale = static_cast<double>(t.softmax_scale) * t.q_scale * t.kv_scale;
  const double factor = std::min<double>(kScore / (scale * square), kLargestQuery / largest);
  for (std::int64_t d = 0; d < dims; ++d)
    store_element(query, d, static_cast<float>(stored_element(key, d, c.dtype.kv, fp8) * factor),
                  c.dtype.q, fp8);
}

// Every (row, head) pair looks for one key at a cut; one in eight for the key that its row is the
// first not to see.
void look_for_cuts(Subject& subject, const Batch& batch, DecodeTensors& t) {
  const Case& c = subject.spec();
  const Topology topology = topology_of(*subject.metadata());
  Random random(c, "P38");
  std::int64_t row = 0;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const RequestSpec& spec = batch.requests[r];
    if (spec.kv_len > 0 && spec.qo_len > 0) {
      const auto cuts = cut_positions(*subject.metadata(), topology, row, spec);
      const std::int64_t pairs = spec.qo_len * c.heads;
      const std::int64_t from = random.below(std::ssize(cuts));
      const std::int64_t stride = std::ssize(cuts) / pairs | 1;  // odd: both sides of a cut
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        const std::int64_t hidden = spec.kv_len - spec.qo_len + 1 + pair / c.heads;
        const bool beyond = c.causal && pair % 8 == 7 && hidden >= 0 && hidden < spec.kv_len;
        const auto cut = static_cast<std::size_t>((from + pair * stride) % std::ssize(cuts));
        look_for(t, c, row * c.heads + pair,
                 batch.slot(static_cast<std::int64_t>(r), beyond ? hidden : cuts[cut]));
      }
    }
    row += spec.qo_len;
  }
}

Outcome decode_cut_keys(Subject& subject) {
  if (const auto& result = subject.result(); !result) return refusal(result.error());
  const Case& c = subject.spec();
  const Result<Batch> batch = make_batch(c);  // as written: what the rows are entitled to
  if (!batch) return refusal(batch.error());
  const auto long_one = [](const RequestSpec& r) { return r.qo_len > 0 && r.kv_len > kFewKeys; };
  if (std::none_of(batch->requests.begin(), batch->requests.end(), long_one))
    return skipped(say("no request with a row has more than ", kFewKeys, " keys"));
  DecodeTensors looking = make_tensors(c, *batch);
  look_for_cuts(subject, *batch, looking);
  DecodeTensors launched = *subject.tensors();
  launched.q = looking.q;
  const auto result = run_decode(
      subject.backend(), {*subject.metadata(), launched},
      {.schedule_seed = c.schedule_seed, .threads = 0, .record_stages = true}, subject.hooks());
  if (!result) return refusal(result.error());
  const cpu::ReferenceResult reference = cpu::dense_reference({.batch = *batch,
                                                               .tensors = looking,
                                                               .arch = c.arch,
                                                               .dtype = c.dtype,
                                                               .model_heads = c.heads,
                                                               .causal = c.causal});
  Outcome outcome = compare({.result = *result,
                             .reference = reference,
                             .metadata = *subject.metadata(),
                             .requests = batch->requests,
                             .heads = c.heads});
  if (outcome.verdict != Verdict::pass)
    outcome.message = "with queries that look for the keys at the cuts: " + outcome.message;
  return outcome;
}

}  // namespace

constexpr Property kP38{"P38", "cut_keys",
                        "The keys on both sides of every cut reach the rows that look for them, "
                        "and no row finds the key after its last.",
                        by_kind<decode_cut_keys, nullptr, nullptr>};

}  // namespace mla::prop
