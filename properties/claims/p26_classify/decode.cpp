// P26: classification and uniformity go by equality: they agree with the rules read word by word on
// small batches, and the resolved shape agrees with the batch.
#include <algorithm>
#include <numeric>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/shape_rules.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

using Lengths = std::vector<std::int64_t>;

std::string text(const Lengths& q) {
  std::string out;
  for (const std::int64_t len : q) out += say(out.empty() ? "[" : ",", len);
  return out + "]";
}

std::int64_t sum(const Lengths& q) {
  return std::accumulate(q.begin(), q.end(), std::int64_t{0});
}

// u > 0 such that the batch is `live` times u followed by zeros only, and u times all requests are
// the padded rows; 0 if there is none (vllm_metadata.md 5.5).
std::int64_t padded_rule(const Lengths& q, std::int64_t max_q, std::int64_t rows) {
  for (std::int64_t u = 2; u <= rows; ++u) {
    if (u * static_cast<std::int64_t>(q.size()) != rows) continue;
    std::size_t live = 0;
    while (live < q.size() && q[live] == u) ++live;
    const bool zeros = sum(q) == u * static_cast<std::int64_t>(live) && live < q.size() &&
                       std::all_of(
                           q.begin() + static_cast<std::ptrdiff_t>(live), q.end(),
                           [](std::int64_t len) { return len == 0; });
    if (zeros && (live == 0 || max_q == u)) return u;
  }
  return 0;
}

// Decodes of a reordered batch, by the five rules of vllm_metadata.md 5.3.
std::int64_t decode_rule(const SplitInput& in) {
  const auto& q = in.qo_lens;
  const auto count = static_cast<std::int64_t>(q.size());
  const std::int64_t longest = *std::max_element(q.begin(), q.end());
  if (longest <= in.threshold && (!in.require_uniform || in.threshold <= 1)) return count;
  if (q[0] > in.threshold) return 0;
  std::int64_t stop = 0;
  for (; stop < count; ++stop) {
    const std::int64_t len = q[static_cast<std::size_t>(stop)];
    if (in.require_uniform ? len != q[0] : len > in.threshold) break;
  }
  bool padding_only = in.require_uniform;
  for (std::int64_t i = stop; i < count; ++i)
    padding_only = padding_only && q[static_cast<std::size_t>(i)] == 0;
  return padding_only ? count : stop;
}

// The decode part is u rows for every decode; padding requests at its end may stand for theirs.
bool uniform_rule(std::span<const std::int64_t> decodes, std::int64_t rows) {
  if (decodes.empty() || decodes[0] == 0) return false;
  const std::int64_t u = decodes[0];
  bool padding = false;
  for (const std::int64_t len : decodes) {
    if (len == 0)
      padding = true;
    else if (len != u || padding)
      return false;
  }
  return u * static_cast<std::int64_t>(decodes.size()) == rows;
}

std::optional<std::string> check_padding_rule(const Functions& functions, Random& random) {
  Lengths q(static_cast<std::size_t>(random.between(1, 4)));
  const std::int64_t u = random.between(1, 4);
  for (std::int64_t& len : q) len = random.below(3) == 0 ? random.below(4) : u;
  const std::int64_t zeros = random.below(static_cast<std::int64_t>(q.size()) + 1);
  std::fill(q.end() - zeros, q.end(), 0);
  const std::int64_t max_q =
      random.below(4) == 0 ? random.below(5) : *std::max_element(q.begin(), q.end());
  const std::int64_t rows =
      random.below(2) == 0 ? random.below(17) : u * static_cast<std::int64_t>(q.size());
  const std::int64_t got = functions.uniform_padded_qo_len(q, max_q, rows);
  const std::int64_t want = padded_rule(q, max_q, rows);
  if (got == want) return std::nullopt;
  return say("query lengths ", text(q), " padded to ", rows, " rows (longest ", max_q,
             ") have the uniform length ", got, ", by the rule ", want);
}

std::optional<std::string> check_split(const Functions& functions, Random& random) {
  Lengths q(static_cast<std::size_t>(random.between(1, 6)));
  const std::int64_t common = random.between(1, 4);
  for (std::int64_t& len : q) len = random.below(2) == 0 ? random.below(6) : common;
  const SplitInput in{.qo_lens = q,
                      .threshold = random.between(1, 5),
                      .require_uniform = random.below(2) == 0,
                      .num_rows = Rows(sum(q) + (random.below(2) == 0 ? 0 : random.below(7)))};
  const DecodeSplit got = functions.split_decodes_and_prefills(in);
  const std::int64_t decodes = decode_rule(in);
  const auto count = static_cast<std::int64_t>(q.size());
  const std::string where = say("query lengths ", text(q), ", threshold ", in.threshold, ", ",
                                in.require_uniform ? "uniform" : "ragged", ", padded to ",
                                in.num_rows.count(), " rows: ");
  if (got.decodes.count() != decodes || got.prefills.count() != count - decodes)
    return say(where, got.decodes.count(), " decodes and ", got.prefills.count(),
               " prefills, by the rules ", decodes, " and ", count - decodes);
  const auto prefix = std::span(q).first(static_cast<std::size_t>(decodes));
  const std::int64_t live = std::accumulate(prefix.begin(), prefix.end(), std::int64_t{0});
  const std::int64_t rows = decodes == count ? in.num_rows.count() : live;
  if (got.decode_rows.count() != rows || got.prefill_rows.count() != sum(q) - live)
    return say(where, got.decode_rows.count(), " decode and ", got.prefill_rows.count(),
               " prefill rows, by the rules ", rows, " and ", sum(q) - live);
  if (got.uniform != uniform_rule(prefix, rows))
    return where + "the decodes are called " + (got.uniform ? "uniform" : "ragged");
  return std::nullopt;
}

// The longest decode is that of a backend's own kernel, or a verified draft where that is longer
// (vllm_metadata.md 5.1).
std::optional<std::string> check_threshold(const Functions& functions, Random& random) {
  const ThresholdQuery in{.backend_threshold = random.between(1, 9),
                          .speculative_tokens = random.between(0, 8),
                          .parallel_drafting = random.below(3) == 0,
                          .speculation_as_decode = random.below(3) != 0,
                          .single_row_only = random.below(8) == 0,
                          .context_parallel = random.below(2) == 0,
                          .context_parallel_rows = random.below(2) == 0};
  std::int64_t want = in.backend_threshold;
  if (in.speculation_as_decode) {
    std::int64_t draft = 1;  // the row of the last accepted token
    for (std::int64_t token = 0; token < in.speculative_tokens; ++token)
      draft += in.parallel_drafting ? 2 : 1;
    want = std::max(want, draft);
  }
  if (in.context_parallel) want = in.context_parallel_rows ? want : 1;
  if (in.single_row_only) want = 1;
  const std::int64_t got = functions.reorder_threshold(in);
  if (got == want) return std::nullopt;
  return say("a backend for ", in.backend_threshold, " rows with ", in.speculative_tokens,
             in.parallel_drafting ? " parallel" : "", " draft tokens takes requests of up to ", got,
             " rows for decodes, by the rule ", want);
}

// A request without cached keys is a prefill however short, and the order is stable.
std::optional<std::string> check_order(const Functions& functions, Random& random) {
  std::vector<StepRequest> requests(static_cast<std::size_t>(random.between(1, 6)));
  for (StepRequest& r : requests) r = {random.between(1, 5), random.below(2) * random.below(100)};
  const std::int64_t threshold = random.between(1, 4);
  const auto rank = [&](std::size_t i) {
    if (requests[i].computed == 0) return 2;
    return requests[i].scheduled <= threshold ? 0 : 1;
  };
  std::vector<std::size_t> want(requests.size());
  std::iota(want.begin(), want.end(), std::size_t{0});
  std::sort(want.begin(), want.end(), [&](std::size_t a, std::size_t b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a < b;
  });
  const auto got = functions.decode_first_order(requests, threshold);
  if (got == want) return std::nullopt;
  const auto wrong = std::mismatch(want.begin(), want.end(), got.begin(), got.end());
  return say("place ", wrong.first - want.begin(), " of ", want.size(),
             " in a reordered step with threshold ", threshold,
             " goes to another request than the rule says");
}

std::optional<std::string> check_shape(const Case& c, const ResolvedShape& shape,
                                       const Batch& batch) {
  Lengths q;
  for (const RequestSpec& r : batch.requests) q.push_back(r.qo_len);
  const std::int64_t longest = *std::max_element(q.begin(), q.end());
  const bool equal = *std::min_element(q.begin(), q.end()) == longest;
  const bool rows = shape.route == Route::persistent_rows;
  const std::int64_t raised = longest + shape.leading_rows;
  const std::int64_t uniform = rows ? 1 : equal ? raised : -1;
  if (auto why = wrong_leading_rows(c, shape, batch)) return why;
  if (shape.uniform_qo_len != uniform || shape.max_qo_len != (rows ? 1 : raised))
    return say("query lengths ", text(q), " on route ", name(shape.route),
               " have the uniform length ", shape.uniform_qo_len, " and the longest ",
               shape.max_qo_len);
  return std::nullopt;
}

// Requests of equal rows that an engine raises to more; nothing is executed.
Case raised_step(Random& random) {
  Case c;
  c.arch = random.below(2) == 0 ? Arch::gfx942 : Arch::gfx950;
  c.heads = 16 * random.between(1, 8);
  if (random.below(2) == 0) c.dtype = {Dtype::fp8, Dtype::fp8};
  if (random.below(3) == 0) c.planner = PlannerChoice::none;
  const std::int64_t q = random.between(1, 6);
  c.requests.assign(static_cast<std::size_t>(random.between(1, 3)), {q, q + 30});
  c.decode().kernel_rows = random.between(q, 8);
  return c;
}

Outcome decode_classify(Subject& subject) {
  const Functions functions = functions_of(subject);
  Random random(subject.spec(), "P26");
  for (int round = 0; round < 24; ++round) {
    if (const auto why = check_padding_rule(functions, random)) return failed(*why);
    if (const auto why = check_split(functions, random)) return failed(*why);
    if (const auto why = check_order(functions, random)) return failed(*why);
    if (const auto why = check_threshold(functions, random)) return failed(*why);
  }
  if (!subject.shape()) return passed();
  if (const auto why = check_shape(subject.spec(), *subject.shape(), *subject.batch()))
    return failed(*why);
  for (int round = 0; round < 8; ++round) {
    Subject other = subject.sibling(raised_step(random));
    if (!other.shape()) continue;
    if (const auto why = check_shape(other.spec(), *other.shape(), *other.batch()))
      return failed("as " + format_case(other.spec()) + ": " + *why);
  }
  return passed();
}

}  // namespace

constexpr Property kP26{
    "P26", "classify",
    "Uniformity and the decode prefix follow the engine's rules, which test lengths for equality.",
    by_kind<decode_classify, nullptr, fa_classify>};

}  // namespace mla::prop
