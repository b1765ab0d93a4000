// P24: the LSE is the natural log of the sum of exponentials, one value for each row and head: that
// of one key is its score, and shards of the keys merged by their LSE give attention over all keys.
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/engine/context_parallel.hpp"
#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/stored_row.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare_subject.hpp"
#include "properties/step/decode/run.hpp"
#include "properties/step/prefill/compare.hpp"
#include "properties/step/prefill/run.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

// The last row of a request over the shards of its keys (each a request of its own), and over its
// first key alone, which comes last.
struct Shards {
  Case spec;
  Batch batch;
  DecodeTensors tensors;
  std::int64_t row = 0;  // of the original batch
  std::int64_t count = 0;
  std::int64_t first_slot = 0;  // of the single key
};

// What core says of the ranks of decode context parallelism, against keys dealt one by one.
std::optional<std::string> ranks_differ(Random& random) {
  const std::int64_t keys = random.below(60);
  ContextShard shard{.world = random.between(1, 8), .interleave = random.between(1, 6)};
  std::vector<std::vector<std::int64_t>> dealt(static_cast<std::size_t>(shard.world));
  for (std::int64_t p = 0; p < keys; ++p)
    dealt[static_cast<std::size_t>(p / shard.interleave % shard.world)].push_back(p);
  const std::string where =
      say(keys, " keys for ", shard.world, " ranks in runs of ", shard.interleave, ": ");
  const std::int64_t rounds = ceil_div(keys, shard.world * shard.interleave);
  if (longest_local_length(Tokens(keys), shard).count() != rounds * shard.interleave)
    return where + "a rank's most keys are not those of whole rounds";
  for (const std::vector<std::int64_t>& own : dealt) {
    if (local_length(Tokens(keys), shard).count() != std::ssize(own))
      return say(where, "rank ", shard.rank, " has ", own.size(), ", and is said to have ",
                 local_length(Tokens(keys), shard).count());
    for (std::size_t i = 0; i < own.size(); ++i)
      if (global_position(static_cast<std::int64_t>(i), shard) != own[i])
        return say(where, "key ", i, " of rank ", shard.rank, " is key ", own[i]);
    ++shard.rank;
  }
  return std::nullopt;
}

// Key p belongs to rank (p / interleave) % world, as in decode context parallelism.
Shards cut_in_shards(Subject& subject, std::int64_t request, Random& random) {
  Shards s{subject.spec(), *subject.batch(), *subject.tensors(), 0, random.between(1, 4), 0};
  const Batch& batch = *subject.batch();
  const auto [q, n] = batch.requests[static_cast<std::size_t>(request)];
  const std::int64_t interleave = random.pick(std::vector<std::int64_t>{1, 2, 16, 64});
  s.row = first_row(batch, request) + q - 1;
  s.batch.block_size = 1;
  s.batch.first_block = batch.first_block * batch.block_size;
  s.batch.cache_blocks = batch.cache_blocks * batch.block_size;
  s.batch.columns = n;
  s.batch.requests.clear();
  s.batch.block_table.assign(static_cast<std::size_t>((s.count + 1) * n),
                             static_cast<std::int32_t>(s.batch.first_block));
  for (std::int64_t rank = 0; rank <= s.count; ++rank) {
    std::int64_t keys = 0;
    for (std::int64_t p = 0; p < n; ++p) {
      const bool mine = rank == s.count ? p == 0 : p / interleave % s.count == rank;
      if (mine)
        s.batch.block_table[static_cast<std::size_t>(rank * n + keys++)] =
            static_cast<std::int32_t>(batch.slot(request, p));
    }
    s.batch.requests.push_back({1, keys});
  }
  s.first_slot = batch.slot(request, 0);
  s.batch.live = Requests(s.count + 1);
  s.spec.requests = s.batch.requests;
  s.spec.pad_requests = 0;
  s.spec.block_size = s.spec.page_size = 1;
  const std::int64_t row_bytes = s.spec.heads * s.spec.widths().key_bytes(s.spec.dtype.q);
  const auto query = subject.tensors()->q.begin() + s.row * row_bytes;
  s.tensors.q.clear();
  for (std::int64_t i = 0; i <= s.count; ++i)
    s.tensors.q.insert(s.tensors.q.end(), query, query + row_bytes);
  return s;
}

double score(const Shards& s, std::int64_t head) {
  const DecodeTensors& t = s.tensors;
  const Fp8Variant variant = fp8_variant(s.spec.arch);
  const std::byte* q = t.q.data() + head * s.spec.widths().key_bytes(s.spec.dtype.q);
  const std::byte* k =
      t.cache.bytes.data() + (s.first_slot - t.cache.first_slot) * t.cache.row_bytes();
  double sum = 0;
  for (std::int64_t d = 0; d < s.spec.widths().key().count(); ++d)
    sum += double{stored_element(q, d, s.spec.dtype.q, variant)} *
           stored_element(k, d, s.spec.dtype.kv, variant);
  return sum * double{t.softmax_scale} * double{t.q_scale} * double{t.kv_scale};
}

// Results and bounds of the shards.
struct Parts {
  const DecodeResult& result;
  const cpu::ReferenceResult& bounds;
  std::int64_t heads = 0;
  [[nodiscard]] std::size_t at(std::int64_t shard, std::int64_t head) const {
    return static_cast<std::size_t>(shard * heads + head);
  }
};

// Weights of the shards from their LSE, their sum's log, and how far LSE errors move a weight.
struct Merge {
  std::vector<double> weights;
  double lse = -std::numeric_limits<double>::infinity();
  double lse_bound = 0;
};

Merge merge_head(const Parts& parts, std::int64_t shards, std::int64_t head) {
  Merge m;
  double top = m.lse;
  for (std::int64_t k = 0; k < shards; ++k)
    top = std::max(top, double{parts.result.lse[parts.at(k, head)]});
  double sum = 0;
  for (std::int64_t k = 0; k < shards; ++k) {
    m.weights.push_back(std::exp(double{parts.result.lse[parts.at(k, head)]} - top));
    sum += m.weights.back();
    m.lse_bound = std::max(m.lse_bound, parts.bounds.lse_bound[parts.at(k, head)]);
  }
  for (double& w : m.weights) w /= sum;
  m.lse = top + std::log(sum);
  return m;
}

std::optional<std::string> check_head(const Shards& s, const Parts& parts,
                                      const DecodeResult& whole, const cpu::ReferenceResult& bounds,
                                      std::int64_t head) {
  const std::string where = say("head ", head, ": ");
  const double single = parts.result.lse[parts.at(s.count, head)];
  const double want = score(s, head);
  const double single_bound = parts.bounds.lse_bound[parts.at(s.count, head)];
  if (!(std::fabs(single - want) <= single_bound))
    return where + "the LSE of one key is " + number_text(single) + ", its score " +
           number_text(want) + " (bound " + number_text(single_bound) + ")";
  const Merge m = merge_head(parts, s.count, head);
  const std::size_t at = parts.at(s.row, head);
  const double full = whole.lse[at];
  if (!(std::fabs(m.lse - full) <= m.lse_bound + bounds.lse_bound[at]))
    return say(where, s.count, " shards have the LSE ", number_text(m.lse), " together, all keys ",
               number_text(full));
  const std::size_t dims = bounds.dims();
  for (std::size_t d = 0; d < dims; ++d) {
    double value = 0;
    double bound = bounds.out_bound[at * dims + d];
    for (std::int64_t k = 0; k < s.count; ++k) {
      const std::size_t i = parts.at(k, head) * dims + d;
      const double part = bf16_to_float(parts.result.out[i]);
      const double weight = m.weights[static_cast<std::size_t>(k)];
      if (weight == 0) continue;
      value += weight * part;
      // A weight is off by a factor of at most e^(2 lse_bound).
      bound += weight * (parts.bounds.out_bound[i] + std::expm1(2 * m.lse_bound) * std::fabs(part));
    }
    const double got = bf16_to_float(whole.out[at * dims + d]);
    if (!(std::fabs(value - got) <= bound))
      return say(where, "dim ", d, " of ", s.count, " shards merged is ", number_text(value),
                 ", over all keys ", number_text(got));
  }
  return std::nullopt;
}

// The request with the fewest keys, at least one: a merge needs no more.
std::int64_t shortest(const Batch& batch) {
  std::int64_t best = -1;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const auto [q, n] = batch.requests[r];
    const bool less = best < 0 || n < batch.requests[static_cast<std::size_t>(best)].kv_len;
    if (q > 0 && n > 0 && less) best = static_cast<std::int64_t>(r);
  }
  return best;
}

Outcome decode_lse_contract(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  const std::int64_t heads = subject.spec().heads;
  const std::int64_t rows = subject.batch()->rows().count();
  if (static_cast<std::int64_t>(result->lse.size()) != rows * heads)
    return failed(say("the LSE has ", result->lse.size(), " elements for ", rows, " rows of ",
                      heads, " heads"));
  Outcome outcome = compare_with_reference(subject);
  if (outcome.verdict != Verdict::pass) return outcome;
  Random random(subject.spec(), "P24");
  if (auto why = ranks_differ(random)) return failed(std::move(*why));
  outcome = decode_rank_masks(subject);
  if (outcome.verdict != Verdict::pass) return outcome;
  const std::int64_t request = shortest(*subject.batch());
  if (request < 0) return skipped("no request has a row and a key");
  const Shards shards = cut_in_shards(subject, request, random);
  const auto step = run_step(subject, shards.spec, shards.batch, shards.tensors);
  if (!step) return skipped("in shards the case is refused: " + step.error().message);
  const cpu::ReferenceResult bounds = cpu::dense_reference({.batch = shards.batch,
                                                            .tensors = shards.tensors,
                                                            .arch = shards.spec.arch,
                                                            .dtype = shards.spec.dtype,
                                                            .model_heads = heads,
                                                            .causal = shards.spec.causal});
  const Parts parts{step->result, bounds, heads};
  for (std::int64_t h = 0; h < heads; ++h)
    if (const auto why = check_head(shards, parts, *result, *subject.reference(), h))
      return failed(say("row ", shards.row, ", ", *why));
  return passed();
}

// For prefill steps: an element as the kernel of the shape computes with it.
double element(std::uint16_t bits, const prefill::PrefillShape& shape) {
  const float value = bf16_to_float(bits);
  if (shape.arithmetic() == Dtype::bf16) return value;
  return fp8_to_float(fp8_from_float(value, shape.fp8), shape.fp8);
}

// The score of a row of the step with its own new key.
double score(const PrefillStep& step, std::int64_t row, std::int64_t head) {
  const std::int64_t first = (row * step.tensors.heads + head) * prefill::kQkDim;
  double sum = 0;
  for (std::int64_t d = first; d < first + prefill::kQkDim; ++d)
    sum += element(step.tensors.q[static_cast<std::size_t>(d)], step.shape) *
           element(step.tensors.k[static_cast<std::size_t>(d)], step.shape);
  return sum * double{step.tensors.softmax_scale};
}

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
  return compare(step, reference);
}

}  // namespace

constexpr Property kP24{
    "P24", "lse_contract",
    "The LSE is natural: of one key its score, and shards merged by it give the whole.",
    by_kind<decode_lse_contract, prefill_lse_contract, nullptr>};

}  // namespace mla::prop
