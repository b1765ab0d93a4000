// P26 for FA steps: requests run in the order decodes, extends, prefills, each run holds what the
// rule says, and no legal batch is refused.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/case/steps.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/fa/compare.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

std::string text(std::span<const RequestSpec> requests) {
  std::string out;
  for (const auto& [q, n] : requests) out += say(out.empty() ? "" : "_", say("q", q), "s", n);
  return out;
}

std::string text(const ThreeWaySplit& s) {
  const auto run = [](Requests requests, Rows rows) {
    return say(requests.count(), " (", rows.count(), " rows)");
  };
  return run(s.decodes, s.decode_rows) + " decodes, " + run(s.extends, s.extend_rows) +
         " extends, " + run(s.prefills, s.prefill_rows) + " prefills";
}

// Walks the batch once: a longer request than the threshold ends the decodes, a longer one without
// context the extends.
ThreeWaySplit split_rule(std::span<const RequestSpec> requests, std::int64_t threshold, Rows rows) {
  ThreeWaySplit s;
  enum { decodes, extends, prefills } run = decodes;
  for (const auto& [q, n] : requests) {
    if (q > threshold && n == q)
      run = prefills;
    else if (q > threshold && run == decodes)
      run = extends;
    Requests& count = run == decodes ? s.decodes : run == extends ? s.extends : s.prefills;
    Rows& sum = run == decodes ? s.decode_rows : run == extends ? s.extend_rows : s.prefill_rows;
    count += Requests(1);
    sum += Rows(q);
  }
  if (run == decodes) s.decode_rows = std::max(s.decode_rows, rows);
  return s;
}

std::optional<std::string> check_function(const Functions& functions, Random& random) {
  std::vector<RequestSpec> requests(static_cast<std::size_t>(random.between(1, 6)));
  for (RequestSpec& r : requests) {
    r.qo_len = random.below(6);
    r.kv_len = r.qo_len + random.below(2) * random.below(50);
  }
  std::vector<std::int64_t> q;
  std::vector<std::int64_t> n;
  std::int64_t sum = 0;
  for (const RequestSpec& r : requests) {
    q.push_back(r.qo_len), n.push_back(r.kv_len);
    sum += r.qo_len;
  }
  const std::int64_t threshold = random.between(1, 4);
  const Rows rows(sum + random.below(2) * random.below(5));
  const ThreeWaySplit got = functions.split_decodes_prefills_and_extends(
      {.qo_lens = q, .kv_lens = n, .threshold = threshold, .num_rows = rows});
  const ThreeWaySplit want = split_rule(requests, threshold, rows);
  if (got == want) return std::nullopt;
  return say(text(requests), " with threshold ", threshold, " and ", rows.count(), " rows gives ",
             text(got), ", by the rule ", text(want));
}

// A decode has the row of its next token, and one for each draft (vllm_metadata.md 5.1).
std::int64_t rows_of_a_decode(const Case& c) {
  return c.fa().draft_tokens + 1;
}

std::optional<std::string> check_threshold(Case c) {
  for (c.fa().draft_tokens = 0; c.fa().draft_tokens < 8; ++c.fa().draft_tokens)
    if (const std::int64_t got = fa::decode_threshold(c); got != rows_of_a_decode(c))
      return say("with ", c.fa().draft_tokens, " drafts a decode has up to ", got, " rows");
  return std::nullopt;
}

// Nothing that an engine may not schedule: every row of a longer request has a key.
bool legal(const Case& c) {
  const std::int64_t threshold = rows_of_a_decode(c);
  const auto steps = single_steps(c);
  return std::all_of(steps.begin(), steps.end(), [threshold](const Case& step) {
    const auto extends = std::count_if(step.requests.begin(), step.requests.end(),
                                       [](const RequestSpec& r) { return r.kv_len > 0; });
    return extends <= step.fa().workspace_tokens &&
           std::all_of(step.requests.begin(), step.requests.end(), [threshold](const auto& r) {
             return r.kv_len >= r.qo_len || (r.kv_len == 0 && r.qo_len <= threshold);
           });
  });
}

std::optional<std::string> check_step(const FaStepRun& step) {
  const Batch& batch = step.ordered.batch;
  const std::int64_t threshold = rows_of_a_decode(step.spec);
  // 0, 1, 2 for decodes, extends, prefills, in the order of the case within each.
  const auto rank = [&](std::int64_t origin) {
    const auto& [q, n] = step.spec.requests[static_cast<std::size_t>(origin)];
    return n == q ? 2 : q <= threshold ? 0 : 1;
  };
  const auto live = static_cast<std::ptrdiff_t>(step.spec.requests.size());
  for (std::ptrdiff_t i = 1; i < live; ++i) {
    const std::int64_t before = step.ordered.origin[static_cast<std::size_t>(i - 1)];
    const std::int64_t here = step.ordered.origin[static_cast<std::size_t>(i)];
    if (std::pair(rank(before), before) > std::pair(rank(here), here))
      return request_name(here) + " runs after " + request_name(before);
  }
  const ThreeWaySplit want = split_rule(batch.requests, threshold, batch.rows());
  if (step.parts.split == want) return std::nullopt;
  return text(batch.requests) + " runs as " + text(step.parts.split) + ", by the rule as " +
         text(want);
}

}  // namespace

Outcome fa_classify(Subject& subject) {
  const Functions functions = functions_of(subject);
  Random random(subject.spec(), "P26");
  if (auto why = check_threshold(subject.spec())) return failed(std::move(*why));
  for (int round = 0; round < 24; ++round)
    if (const auto why = check_function(functions, random)) return failed(*why);
  const auto& steps = subject.fa();
  if (!steps) {
    const bool refused = steps.error().code == ErrorCode::refused && legal(subject.spec());
    return refused ? failed("a legal batch is refused: " + steps.error().message)
                   : refusal(steps.error());
  }
  for (const FaStepRun& step : *steps)
    if (const auto why = check_step(step)) return failed(*why);
  return passed();
}

}  // namespace mla::prop
