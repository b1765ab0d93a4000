#include "core/engine/prefill/chunks.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/say.hpp"

namespace mla::prefill {
namespace {

// Tokens [start, start + length) of the context of one request.
struct Piece {
  std::int64_t start = 0;
  std::int64_t length = 0;
};

std::int64_t context_of(const ContextQuery& query, std::int64_t request) {
  return query.context_lens[static_cast<std::size_t>(request)];
}

std::int64_t count(const ContextQuery& query) {
  return static_cast<std::int64_t>(query.context_lens.size());
}

Error too_small(const ContextQuery& query, std::int64_t wanted) {
  return {ErrorCode::unsupported, say("a workspace of ", query.workspace_tokens,
                                      " context tokens holds no piece of ", wanted)};
}

// Tokens of one rank when `tokens` of a context are dealt out in runs of `interleave`, padded to
// whole rounds.
std::int64_t padded_local(const ContextQuery& query, std::int64_t tokens) {
  return ceil_div(tokens, query.ranks * query.interleave) * query.interleave;
}

ContextChunk make_chunk(const ContextQuery& query, std::int64_t first,
                        const std::vector<Piece>& pieces) {
  ContextChunk chunk;
  chunk.first_request = first;
  const auto* const begin = query.qo_lens.data();
  chunk.rows.begin = std::accumulate(begin, begin + first, std::int64_t{0});
  chunk.cu_seq_lens.push_back(0);
  chunk.query_start_loc.push_back(0);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto [start, length] = pieces[i];
    const std::int64_t rows = query.qo_lens[static_cast<std::size_t>(first) + i];
    chunk.starts.push_back(static_cast<std::int32_t>(start));
    chunk.seq_lens.push_back(static_cast<std::int32_t>(length));
    chunk.cu_seq_lens.push_back(chunk.cu_seq_lens.back() + static_cast<std::int32_t>(length));
    chunk.token_to_seq.insert(chunk.token_to_seq.end(), static_cast<std::size_t>(length),
                              static_cast<std::int32_t>(i));
    chunk.query_start_loc.push_back(chunk.query_start_loc.back() + static_cast<std::int32_t>(rows));
    chunk.max_seq_len = std::max(chunk.max_seq_len, length);
    chunk.max_query_len = std::max(chunk.max_query_len, rows);
    if (query.ranks > 1) {
      chunk.local_starts.push_back(padded_local(query, start));
      chunk.padded_local_lens.push_back(padded_local(query, start + length) -
                                        chunk.local_starts.back());
    }
  }
  chunk.rows.end = chunk.rows.begin + chunk.query_start_loc.back();
  chunk.continuation_end = chunk.rows.begin;
  return chunk;
}

// The packed rule as a walk over the requests.
class Packing {
 public:
  explicit Packing(const ContextQuery& query)
      : query_(query),
        align_(std::lcm(query.block_size, query.ranks * query.interleave)),
        budget_(query.workspace_tokens / query.ranks),
        free_(budget_) {}

  Result<ContextChunks> pack() && {
    for (std::int64_t r = 0; r < count(query_); ++r) {
      if (context_of(query_, r) == 0) {
        // A chunk covers neighbouring requests, and none without context.
        if (MaybeError bad = close()) return *bad;
        continue;
      }
      for (std::int64_t done = 0; done < context_of(query_, r);) {
        const std::int64_t taken = fits(r, done);
        if (taken == 0 && pieces_.empty()) return too_small(query_, align_);
        if (taken == 0) {
          if (MaybeError bad = close()) return *bad;
          continue;
        }
        add(r, {done, taken});
        done += taken;
      }
    }
    if (MaybeError bad = close()) return *bad;
    return ContextChunks{std::move(chunks_), {}};
  }

 private:
  // What of the context from `start` on goes into the open chunk: all of it, or an aligned part.
  [[nodiscard]] std::int64_t fits(std::int64_t request, std::int64_t start) const {
    const std::int64_t rest = context_of(query_, request) - start;
    if (cost({start, rest}) <= free_) return rest;
    // `start` is aligned, so an aligned part costs each rank exactly its share.
    const std::int64_t most = free_ * query_.ranks;
    return std::min(most, rest - 1) / align_ * align_;
  }
  [[nodiscard]] std::int64_t cost(const Piece& piece) const {
    if (query_.ranks == 1) return piece.length;
    return padded_local(query_, piece.start + piece.length) - padded_local(query_, piece.start);
  }
  void add(std::int64_t request, const Piece& piece) {
    if (pieces_.empty()) first_ = request;
    pieces_.push_back(piece);
    free_ -= cost(piece);
  }
  MaybeError close() {
    if (pieces_.empty()) return std::nullopt;
    if (MaybeError bad = too_many_chunks(query_.workspace_tokens, std::ssize(chunks_) + 1))
      return bad;
    ContextChunk chunk = make_chunk(query_, first_, pieces_);
    // Only the first request of a chunk can have begun in an earlier one.
    if (pieces_.front().start > 0)
      chunk.continuation_end = chunk.rows.begin + chunk.query_start_loc[1];
    chunks_.push_back(std::move(chunk));
    pieces_.clear();
    free_ = budget_;
    return std::nullopt;
  }

  const ContextQuery& query_;
  const std::int64_t align_;
  const std::int64_t budget_;  // tokens of one rank
  std::int64_t free_;
  std::int64_t first_ = 0;
  std::vector<Piece> pieces_;
  std::vector<ContextChunk> chunks_;
};

}  // namespace

MaybeError too_many_chunks(std::int64_t workspace_tokens, std::int64_t chunks) {
  if (chunks <= kMostChunks) return std::nullopt;
  return Error{ErrorCode::unsupported,
               say("a workspace of ", workspace_tokens, " tokens cuts the context in more than ",
                   kMostChunks, " chunks, which is the limit")};
}

std::int64_t context_workspace_tokens(Tokens max_model_len, Requests max_requests,
                                      std::int64_t block_size) {
  const std::int64_t least = max_requests.count() * block_size;
  const std::int64_t wanted = std::max(8 * max_model_len.count(), 4 * least);
  return std::max(std::min<std::int64_t>(wanted, 65536), least);
}

Result<ContextChunks> split_context_evenly(const ContextQuery& query) {
  const auto& lens = query.context_lens;
  const auto with_context = std::count_if(lens.begin(), lens.end(), [](auto n) { return n > 0; });
  ContextChunks out;
  if (with_context == 0) return out;
  const std::int64_t each =
      query.workspace_tokens / with_context / query.block_size * query.block_size;
  if (each == 0) return too_small(query, query.block_size * with_context);
  const std::int64_t longest = *std::max_element(lens.begin(), lens.end());
  if (const MaybeError bad = too_many_chunks(query.workspace_tokens, ceil_div(longest, each)))
    return *bad;
  for (std::int64_t begin = 0; begin < longest; begin += each) {
    std::vector<Piece> pieces;
    for (const std::int64_t n : lens) {
      const std::int64_t start = std::min(begin, n);
      pieces.push_back({start, std::min(begin + each, n) - start});
    }
    out.chunks.push_back(make_chunk(query, 0, pieces));
    if (begin > 0) out.chunks.back().continuation_end = out.chunks.back().rows.end;
  }
  return out;
}

Result<ContextChunks> pack_context(const ContextQuery& query) {
  auto packed = Packing(query).pack();
  if (!packed) return packed;
  std::int64_t row = 0;
  for (std::int64_t r = 0; r < count(query); ++r) {
    const std::int64_t rows = query.qo_lens[static_cast<std::size_t>(r)];
    if (context_of(query, r) == 0) packed->empty_rows.push_back({row, row + rows});
    row += rows;
  }
  return packed;
}

Result<ContextChunks> context_chunks(ChunkRule rule, const ContextQuery& query) {
  return rule == ChunkRule::even ? split_context_evenly(query) : pack_context(query);
}

}  // namespace mla::prefill
