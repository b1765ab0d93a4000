// P25 for a context whose tokens are dealt out to ranks: chunks cover every key once, in order,
// each rank's share fits in its part of the workspace, and no chunk is closed too early.
//
// No backend of this project executes several ranks; what is judged is the list that an engine
// gathers by (vllm_metadata.md 2.4).
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

using prefill::ContextChunk;
using prefill::ContextQuery;
using Sentence = std::optional<std::string>;

// Tokens [0, n) of a context that are on this rank.
std::int64_t tokens_on(std::int64_t rank, std::int64_t n, const ContextQuery& q) {
  const std::int64_t round = q.ranks * q.interleave;
  const std::int64_t rest = n % round - rank * q.interleave;
  return n / round * q.interleave + std::clamp<std::int64_t>(rest, 0, q.interleave);
}

class RankChunks {
 public:
  explicit RankChunks(const ContextQuery& query)
      : q_(query), least_(std::lcm(query.block_size, query.ranks * query.interleave)) {}

  Sentence check(const std::vector<ContextChunk>& chunks) {
    skip_gap();
    for (const ContextChunk& chunk : chunks) {
      if (chunk.first_request != request_) return say("a chunk begins with ", chunk.first_request);
      if (could_take(free_)) return say("request ", request_, " had room in the chunk before");
      free_ = q_.workspace_tokens / q_.ranks;
      for (std::size_t i = 0; i < chunk.seq_lens.size(); ++i)
        if (auto why = take(chunk, i)) return why;
      if (free_ < 0) return say("a rank needs ", -free_, " tokens more than its workspace has");
      skip_gap();
    }
    if (request_ < std::ssize(q_.context_lens)) return say("request ", request_, " is not covered");
    return std::nullopt;
  }

 private:
  // Requests without context end a chunk.
  void skip_gap() {
    for (; request_ < std::ssize(q_.context_lens) && context() == 0; ++request_) free_ = 0;
  }
  [[nodiscard]] std::int64_t context() const {
    return request_ < std::ssize(q_.context_lens)
               ? q_.context_lens[static_cast<std::size_t>(request_)]
               : 0;
  }
  // Whether the next piece, cut as short as it can be, needs no more than `free` tokens of a rank.
  [[nodiscard]] bool could_take(std::int64_t free) const {
    const std::int64_t end = std::min(context(), done_ + least_);
    const std::int64_t share = tokens_on(0, end, q_) - tokens_on(0, done_, q_);
    return round_up(share, q_.interleave) <= free;
  }
  Sentence take(const ContextChunk& chunk, std::size_t i) {
    const std::int64_t length = chunk.seq_lens[i];
    if (length < 1) return say("request ", request_, " has an empty piece");
    if (chunk.starts[i] != done_ || done_ % least_ != 0)
      return say("a piece of request ", request_, " begins at ", chunk.starts[i], ", covered are ",
                 done_);
    for (std::int64_t rank = 0; rank < q_.ranks; ++rank) {
      const std::int64_t before = tokens_on(rank, done_, q_);
      if (chunk.local_starts[i] != before)
        return say("rank ", rank, " begins at ", chunk.local_starts[i], ", not at ", before);
      const std::int64_t share = tokens_on(rank, done_ + length, q_) - before;
      const std::int64_t padded = chunk.padded_local_lens[i];
      if (share > padded || (rank == 0 && padded != round_up(share, q_.interleave)))
        return say("rank ", rank, " has ", share, " tokens of a piece that is ", padded, " long");
    }
    free_ -= chunk.padded_local_lens[i];
    done_ += length;
    if (done_ > context()) return say("request ", request_, " has no ", done_, " context keys");
    if (done_ == context()) ++request_, done_ = 0;
    return std::nullopt;
  }

  const ContextQuery& q_;
  const std::int64_t least_;  // tokens of the shortest piece that is not the last of its request
  std::int64_t request_ = 0;  // the one whose next piece comes
  std::int64_t done_ = 0;     // its context keys that are covered
  std::int64_t free_ = 0;     // tokens of a rank that the last chunk had left
};

// One context list, dealt out to some ranks in some workspace.
Sentence check_dealt(const Case& c, decltype(&prefill::pack_context) pack, Random& random) {
  std::vector<std::int64_t> contexts;
  std::vector<std::int64_t> rows;
  for (const RequestSpec& r : c.requests) {
    const std::int64_t cached = std::max<std::int64_t>(r.kv_len - r.qo_len, 0);
    contexts.push_back(random.below(4) == 0 ? 0 : cached + random.below(40));
    rows.push_back(r.qo_len);
  }
  ContextQuery query{.context_lens = contexts,
                     .qo_lens = rows,
                     .workspace_tokens = 0,
                     .block_size = c.block_size,
                     .ranks = std::int64_t{1} << random.between(1, 3),
                     .interleave = random.pick(std::vector<std::int64_t>{1, 3, 16})};
  const std::int64_t least = std::lcm(query.block_size, query.ranks * query.interleave);
  // Not so many chunks of a long context that they are refused.
  const std::int64_t total = std::accumulate(contexts.begin(), contexts.end(), std::int64_t{0});
  query.workspace_tokens =
      least * (total / least / 4096 + random.between(1, 4)) + random.below(least);
  // A context of one token, or two, more than a chunk holds.
  if (random.below(4) == 0)
    contexts[0] = query.workspace_tokens / query.ranks * query.ranks + random.between(1, 2);
  const std::string where = say(query.ranks, " ranks of ", query.workspace_tokens / query.ranks,
                                " tokens in runs of ", query.interleave, ": ");
  const auto chunks = pack(query);
  if (!chunks) return where + "the chunks are refused: " + chunks.error().message;
  if (const auto why = RankChunks(query).check(chunks->chunks)) return where + *why;
  return std::nullopt;
}

}  // namespace

Outcome prefill_rank_chunks(Subject& subject) {
  constexpr int kDraws = 16;
  Random random(subject.spec(), "P25 ranks");
  const Functions functions = functions_of(subject);
  for (int draw = 0; draw < kDraws; ++draw)
    if (const auto why = check_dealt(subject.spec(), functions.pack_context, random))
      return failed("chunks for " + *why);
  return passed();
}

}  // namespace mla::prop
