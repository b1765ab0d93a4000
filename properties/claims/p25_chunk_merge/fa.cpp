// P25 for FA steps: the chunks of the extends cover every context once, each token has its owner,
// and the result does not depend on how large a chunk is.
#include <algorithm>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/fa/compare.hpp"

namespace mla::prop {
namespace {

using Ints = std::vector<std::int32_t>;

std::string at(const char* list, std::int64_t chunk, std::int64_t i, std::int64_t got,
               std::int64_t want) {
  return say(list, " of chunk ", chunk, " has ", got, " at ", i, ", by the rule ", want);
}

std::vector<RequestSpec> extends_of(const FaStepRun& step) {
  const auto first = step.ordered.batch.requests.begin() + step.parts.split.decodes.count();
  return {first, first + step.parts.split.extends.count()};
}

// Tokens are owned by the request whose sums they lie between.
std::optional<std::string> check_owners(const char* list, std::span<const std::int32_t> owners,
                                        std::span<const std::int32_t> sums, std::int64_t chunk) {
  for (std::size_t b = 0; b + 1 < sums.size(); ++b)
    for (std::int32_t t = sums[b]; t < sums[b + 1]; ++t)
      if (static_cast<std::size_t>(t) >= owners.size() ||
          owners[static_cast<std::size_t>(t)] != static_cast<std::int32_t>(b))
        return at(
            list, chunk, t,
            static_cast<std::size_t>(t) < owners.size() ? owners[static_cast<std::size_t>(t)] : -1,
            static_cast<std::int64_t>(b));
  return std::nullopt;
}

std::optional<std::string> check_chunks(const FaStepRun& step) {
  const std::vector<RequestSpec> extends = extends_of(step);
  const auto count = static_cast<std::int64_t>(extends.size());
  constexpr std::int64_t kWorkspace = 32 * 1024;  // tokens of an engine (vllm_metadata.md 3.3)
  const std::int64_t size = std::min(step.spec.fa().workspace_tokens, kWorkspace) / count;
  std::int64_t longest = 0;
  for (const auto& [q, n] : extends) longest = std::max(longest, n - q);
  const std::int64_t chunks = ceil_div(longest, size);
  const FaLists& l = step.lists;
  if (static_cast<std::int64_t>(l.chunk_starts.size()) != chunks * count)
    return say("chunk_starts has ", l.chunk_starts.size(), " entries for ", chunks, " chunks of ",
               count, " extends");
  const std::int64_t columns =
      chunks == 0 ? 0 : static_cast<std::int64_t>(l.token_to_batch.size()) / chunks;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const auto sums = std::span(l.cu_seq_lens_chunk)
                          .subspan(static_cast<std::size_t>(c * (count + 1)),
                                   static_cast<std::size_t>(count) + 1);
    for (std::int64_t b = 0; b < count; ++b) {
      const auto i = static_cast<std::size_t>(b);
      const std::int64_t context = extends[i].kv_len - extends[i].qo_len;
      const std::int64_t start = std::min(c * size, context);
      const std::int64_t tokens = std::min((c + 1) * size, context) - start;
      const std::int32_t got = l.chunk_starts[static_cast<std::size_t>(c * count + b)];
      if (got != start) return at("chunk_starts", c, b, got, start);
      if (sums[i + 1] - sums[i] != tokens)
        return at("cu_seq_lens_chunk", c, b, sums[i + 1] - sums[i], tokens);
    }
    const auto owners =
        std::span(l.token_to_batch)
            .subspan(static_cast<std::size_t>(c * columns), static_cast<std::size_t>(columns));
    if (auto why = check_owners("token_to_batch", owners, sums, c)) return why;
  }
  return std::nullopt;
}

// The windows' part: the last min(n, q + window + 1) keys of every extend.
std::optional<std::string> check_windows(const FaStepRun& step) {
  if (step.layer.window < 0) return std::nullopt;
  const std::vector<RequestSpec> extends = extends_of(step);
  const FaLists& l = step.lists;
  if (l.swa_cu_seqlens.size() != extends.size() + 1 || l.swa_seq_starts.size() != extends.size())
    return say("the windows of ", extends.size(), " extends have ", l.swa_cu_seqlens.size(),
               " sums and ", l.swa_seq_starts.size(), " starts");
  for (std::size_t b = 0; b < extends.size(); ++b) {
    const auto [q, n] = extends[b];
    const std::int64_t keys = std::min(n, q + step.layer.window + 1);
    const auto i = static_cast<std::int64_t>(b);
    const std::int64_t got = l.swa_cu_seqlens[b + 1] - l.swa_cu_seqlens[b];
    if (got != keys) return at("swa_cu_seqlens", 0, i, got, keys);
    if (l.swa_seq_starts[b] != n - keys)
      return at("swa_seq_starts", 0, i, l.swa_seq_starts[b], n - keys);
  }
  return check_owners("swa_token_to_batch", l.swa_token_to_batch, l.swa_cu_seqlens, 0);
}

}  // namespace

Outcome fa_chunk_merge(Subject& subject) {
  const auto& steps = subject.fa();
  if (!steps) return refusal(steps.error());
  std::int64_t most = 0;
  for (const FaStepRun& step : *steps) {
    const std::int64_t extends = step.parts.split.extends.count();
    most = std::max(most, extends);
    if (extends == 0) continue;
    if (const auto why = check_chunks(step)) return failed(*why);
    if (const auto why = check_windows(step)) return failed(*why);
  }
  if (most == 0) return skipped("no step has an extend");
  Random random(subject.spec(), "P25");
  for (const std::int64_t per_extend : {random.between(3, 40), random.between(41, 400)}) {
    Case other = subject.spec();
    other.fa().workspace_tokens = per_extend * most;
    Subject chunked = subject.sibling(other);
    if (!chunked.fa())
      return failed(say("the step is taken, but refused in chunks of ", per_extend,
                        " tokens: ", chunked.fa().error().message));
    Outcome outcome = compare(*chunked.fa());
    if (outcome.verdict == Verdict::pass) continue;
    outcome.message = say("in chunks of ", per_extend, " tokens: ", outcome.message);
    return outcome;
  }
  return passed();
}

}  // namespace mla::prop
