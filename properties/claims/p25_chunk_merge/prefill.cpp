// P25: context chunks cover every cached key once within the workspace, whatever the chunk rule and
// the workspace the result is the same, requests without context stay as they are, and a merge
// reads each side with strides of its own.
#include <algorithm>
#include <bit>
#include <map>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/prefill/compare.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

using prefill::ChunkRule;
using prefill::ContextChunk;
using prefill::kVDim;
using Sentence = std::optional<std::string>;

std::int64_t context_of(const RequestSpec& r) {
  return r.kv_len - r.qo_len;
}

// The case, with context for all or every other request if it has none.
Case with_context(const Case& c) {
  Case out = c;
  out.later_steps.clear();
  const bool any = std::any_of(c.requests.begin(), c.requests.end(),
                               [](const RequestSpec& r) { return context_of(r) > 0; });
  Random random(c, "P25 context");
  const auto step = static_cast<std::size_t>(random.between(1, 2));
  for (std::size_t r = 0; r < out.requests.size() && !any; r += step)
    out.requests[r].kv_len = out.requests[r].qo_len + random.between(1, 90);
  return out;
}

struct Totals {
  std::int64_t tokens = 0;
  std::int64_t requests = 0;  // with context
  std::int64_t longest = 0;
  std::int64_t gaps = 0;  // requests without context
};
Totals totals_of(const Case& c) {
  Totals t;
  for (const RequestSpec& r : c.requests) {
    t.tokens += context_of(r);
    t.longest = std::max(t.longest, context_of(r));
    ++(context_of(r) > 0 ? t.requests : t.gaps);
  }
  return t;
}

// The same context in other chunks; not in many more.
Case in_other_chunks(const Case& c, ChunkRule rule) {
  const Totals t = totals_of(c);
  Random random(c, rule == ChunkRule::even ? "P25 even" : "P25 packed");
  const std::int64_t pieces = random.between(1, 5);
  const std::int64_t each = rule == ChunkRule::even ? t.longest : t.tokens;
  Case out = c;
  out.prefill().workspace_tokens =
      round_up(std::max(ceil_div(each, pieces), c.block_size), c.block_size) +
      random.below(c.block_size);
  if (rule == ChunkRule::even) out.prefill().workspace_tokens *= t.requests;
  // Blocks of one token allow the smallest chunks, and a context that goes on at its key 1.
  constexpr std::int64_t kShort = 40;
  if (c.block_size > 1 || random.below(2) == 0) return out;
  const auto& r = c.requests;
  const bool next = r.size() > 1 && context_of(r[1]) > 1;
  const std::int64_t first = next ? context_of(r[0]) : 0;
  if (rule == ChunkRule::even && t.longest <= kShort) out.prefill().workspace_tokens = t.requests;
  if (rule == ChunkRule::packed && first > 0 && t.tokens <= kShort * (first + 1))
    out.prefill().workspace_tokens = first + 1;
  return out;
}

class Coverage {
 public:
  explicit Coverage(const PrefillStep& step) : step_(step), done_(step.batch.requests.size(), 0) {}

  Sentence check() {
    const auto& context = step_.metadata.context;
    if (!context) return "no chunk is made of context";
    for (const ContextChunk& chunk : context->chunks)
      if (auto why = check_chunk(chunk)) return why;
    std::int64_t row = 0;
    for (std::size_t r = 0; r < done_.size(); ++r) {
      const RequestSpec& request = step_.batch.requests[r];
      if (done_[r] != context_of(request))
        return say(request_name(static_cast<std::int64_t>(r)), " has ", context_of(request),
                   " context keys, chunks cover ", done_[r]);
      for (std::int64_t i = 0; i < request.qo_len; ++i, ++row) {
        const bool neutral =
            std::any_of(context->empty_rows.begin(), context->empty_rows.end(),
                        [row](const RowRange& e) { return row >= e.begin && row < e.end; });
        if (neutral == written_.contains(row))
          return say("row ", row,
                     neutral ? " is written by a chunk and as one without context"
                             : " is written by no chunk, nor as one without context");
      }
    }
    return check_count(static_cast<std::int64_t>(context->chunks.size()));
  }

 private:
  Sentence check_chunk(const ContextChunk& chunk) {
    if (chunk.tokens() > step_.spec.prefill().workspace_tokens)
      return say("a chunk of ", chunk.tokens(), " tokens in a workspace of ",
                 step_.spec.prefill().workspace_tokens);
    if (static_cast<std::int64_t>(chunk.token_to_seq.size()) != chunk.tokens())
      return say("a chunk of ", chunk.tokens(), " tokens names the requests of ",
                 chunk.token_to_seq.size());
    std::int64_t row = first_row(step_.batch, chunk.first_request);
    std::int64_t longest = 0;
    std::int64_t most_rows = 0;
    for (std::int64_t i = 0; i < chunk.requests(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t r = chunk.first_request + i;
      if (r >= static_cast<std::int64_t>(done_.size())) return "a chunk covers " + request_name(r);
      std::int64_t& done = done_[static_cast<std::size_t>(r)];
      if (chunk.seq_lens[at] > 0 && chunk.starts[at] != done)
        return say(request_name(r), " continues at context key ", chunk.starts[at], ", after ",
                   done, " keys");
      if (chunk.seq_lens[at] > 0 && chunk.starts[at] % step_.spec.block_size != 0)
        return say(request_name(r), " continues at context key ", chunk.starts[at],
                   ", inside a block of ", step_.spec.block_size);
      const std::int64_t qo_len = step_.batch.requests[static_cast<std::size_t>(r)].qo_len;
      for (std::int64_t k = 0; k < qo_len; ++k, ++row) {
        const bool merged = row < chunk.continuation_end;
        if (merged != written_.contains(row))
          return say("row ", row,
                     merged ? " is merged with nothing" : " is written over an earlier chunk");
        written_.insert({row, true});
      }
      done += chunk.seq_lens[at];
      longest = std::max<std::int64_t>(longest, chunk.seq_lens[at]);
      most_rows = std::max(most_rows, qo_len);
    }
    if (chunk.max_seq_len != longest || chunk.max_query_len != most_rows)
      return say("a chunk of up to ", longest, " keys and ", most_rows, " rows says ",
                 chunk.max_seq_len, " and ", chunk.max_query_len);
    if (row != chunk.rows.end) return say("a chunk's rows end at ", chunk.rows.end);
    return std::nullopt;
  }

  // A closed chunk has less than a block left, but for one closed by a request without context.
  [[nodiscard]] Sentence check_count(std::int64_t chunks) const {
    const Totals t = totals_of(step_.spec);
    if (step_.shape.rule == ChunkRule::even) return check_even_count(chunks, t);
    const std::int64_t full = step_.spec.prefill().workspace_tokens - step_.spec.block_size + 1;
    const std::int64_t most = t.tokens / full + 1 + t.gaps;
    if (chunks <= most) return std::nullopt;
    return say(t.tokens, " context keys take ", chunks, " chunks of up to ",
               step_.spec.prefill().workspace_tokens, ", at most ", most, " are needed");
  }

  // The requests with context, and no others, share the workspace (BUG-104).
  [[nodiscard]] Sentence check_even_count(std::int64_t chunks, const Totals& t) const {
    const std::int64_t block = step_.spec.block_size;
    const std::int64_t each = step_.spec.prefill().workspace_tokens / t.requests / block * block;
    if (chunks == ceil_div(t.longest, each)) return std::nullopt;
    return say("a context of ", t.longest, " keys takes ", chunks, " chunks of ", each,
               " keys a request");
  }

  const PrefillStep& step_;
  std::vector<std::int64_t> done_;        // context keys of each request
  std::map<std::int64_t, bool> written_;  // rows that have a partial result
};

// One state in memory of a given pitch, the same values for every pitch.
struct Pitched {
  Pitched(std::uint64_t seed, std::int64_t rows, std::int64_t heads, std::int64_t pitch)
      : rows(rows),
        heads(heads),
        pitch(pitch),
        out(static_cast<std::size_t>(rows * heads * pitch)),
        lse(static_cast<std::size_t>(rows * heads)) {
    std::uint64_t state = seed;
    const auto next = [&state] {
      return state = state * 6364136223846793005U + 1442695040888963407U;
    };
    for (std::int64_t pair = 0; pair < rows * heads; ++pair) {
      lse[static_cast<std::size_t>(pair)] = static_cast<float>(next() >> 60U) - 8.0F;
      for (std::int64_t d = 0; d < kVDim; ++d)
        out[static_cast<std::size_t>(pair * pitch + d)] =
            bf16_from_float(static_cast<float>(next() >> 56U) - 128.0F, Bf16Rounding::nearest_even);
    }
  }
  [[nodiscard]] prefill::State state() const {
    return {{out.data(), heads * pitch, pitch}, {lse.data(), heads, 1}};
  }
  std::int64_t rows, heads, pitch;
  std::vector<std::uint16_t> out;
  std::vector<float> lse;
};

Sentence check_strides(const prefill::Kernels& kernels) {
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kHeads = 2;
  std::vector<Fault> faults;
  Launches launches;
  const prefill::KernelContext context{Arch::gfx950, 1, 0, faults, launches};
  std::optional<Pitched> first;
  for (const auto& [a, b] : {std::pair{kVDim, kVDim}, {kVDim, 192}, {192, kVDim}, {160, 192}}) {
    const Pitched prefix(1, kRows, kHeads, a);
    const Pitched suffix(2, kRows, kHeads, b);
    Pitched merged(3, kRows, kHeads, kVDim);
    kernels.merge(context, {.prefix = prefix.state(),
                            .suffix = suffix.state(),
                            .out = {merged.out.data(), kHeads * kVDim, kVDim},
                            .lse = {merged.lse.data(), kHeads, 1},
                            .rows = kRows,
                            .heads = kHeads});
    if (!first) first = merged;
    if (merged.out != first->out || merged.lse != first->lse)
      return say("a merge of a prefix with pitch ", a, " and a suffix with pitch ", b,
                 " differs from the same merge without gaps");
  }
  return std::nullopt;
}

Outcome prefill_chunk_merge(Subject& subject) {
  if (const auto why = check_strides(kernels_of(subject.context()))) return failed(*why);
  if (Outcome ranks = prefill_rank_chunks(subject); ranks.verdict != Verdict::pass) return ranks;
  const Case base = with_context(subject.spec());
  std::vector<PrefillRun> runs;
  for (const auto& [c, rule] : {std::pair{base, ChunkRule::packed},
                                {in_other_chunks(base, ChunkRule::packed), ChunkRule::packed},
                                {in_other_chunks(base, ChunkRule::even), ChunkRule::even}}) {
    auto run = run_prefill({c}, subject.context(), {.ahead = 0, .threads = 1, .rule = rule});
    if (!run && runs.empty()) return refusal(run.error());
    // A plan over context has no place for a chunk of a request that is empty.
    if (!run && rule == ChunkRule::even && run.error().code == ErrorCode::refused &&
        runs[0].steps[0]->shape.path == prefill::Path::fp8_context)
      continue;
    if (!run)
      return failed("the step is taken, but refused as " + format_case(c) + ": " +
                    run.error().message);
    if (const auto why = Coverage(*run->steps[0]).check())
      return failed("as " + format_case(c) + ": " + *why);
    runs.push_back(std::move(*run));
  }
  // One reference for all: the bound of the run with the most chunks.
  const auto most = std::max_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return a.steps[0]->metadata.context->chunks.size() <
           b.steps[0]->metadata.context->chunks.size();
  });
  const cpu::ReferenceResult reference = reference_of(*most->steps[0]);
  for (const PrefillRun& run : runs) {
    const PrefillStep& step = *run.steps[0];
    Outcome outcome = compare(step, reference);
    if (outcome.verdict == Verdict::pass) continue;
    outcome.message = say("as ", format_case(step.spec), " in ",
                          step.metadata.context->chunks.size(), " chunks: ", outcome.message);
    return outcome;
  }
  return passed();
}

}  // namespace

constexpr Property kP25{
    "P25", "chunk_merge",
    "Context chunks cover every key once, and their size does not change the result.",
    by_kind<nullptr, prefill_chunk_merge, fa_chunk_merge>};

}  // namespace mla::prop
