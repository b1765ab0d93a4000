#include "core/engine/fa/parts.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "core/engine/prefill/chunks.hpp"
#include "core/say.hpp"

namespace mla::fa {
namespace {

using Lengths = std::span<const std::int64_t>;

std::int64_t longest(Lengths lengths) {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

Lengths run_of(Lengths lengths, Requests first, Requests count) {
  return lengths.subspan(static_cast<std::size_t>(first.count()),
                         static_cast<std::size_t>(count.count()));
}

void append_sums(std::vector<std::int32_t>& out, Lengths lengths) {
  out.push_back(0);
  for (const std::int64_t n : lengths) out.push_back(out.back() + static_cast<std::int32_t>(n));
}

std::string keys_and_rows(std::int64_t request, std::int64_t kv_len, std::int64_t qo_len) {
  return say("request ", request, " has ", kv_len, " keys for ", qo_len, " query rows");
}

// A continued prompt after the first prefill would be attended without its cached context, which
// nothing later notices; that is what an engine with another order of requests gets.
MaybeError check_runs(const PartsInput& in, Lengths kv_lens) {
  const std::int64_t extend = in.split.decodes.count();
  const std::int64_t prefill = extend + in.split.extends.count();
  for (std::int64_t r = extend; r < static_cast<std::int64_t>(in.qo_lens.size()); ++r) {
    const std::int64_t q = in.qo_lens[static_cast<std::size_t>(r)];
    const std::int64_t n = kv_lens[static_cast<std::size_t>(r)];
    if (n < q)
      return Error{ErrorCode::refused, keys_and_rows(r, n, q) + ": the first rows would see none",
                   "BUG-075"};
    if (r >= prefill && n > q)
      return Error{ErrorCode::refused, keys_and_rows(r, n, q) +
                                           " and stands among the prefills, which are attended "
                                           "without cached context"};
  }
  return std::nullopt;
}

Result<StepParts> plan_with_lengths(const PartsInput& in, Lengths kv_lens, StepParts parts) {
  if (MaybeError bad = check_runs(in, kv_lens)) return *bad;
  const ThreeWaySplit& s = in.split;
  if (s.extends > Requests(0)) {
    const Lengths q = run_of(in.qo_lens, s.decodes, s.extends);
    const Lengths n = run_of(kv_lens, s.decodes, s.extends);
    std::vector<std::int64_t> context(n.begin(), n.end());
    for (std::size_t i = 0; i < context.size(); ++i) context[i] -= q[i];
    auto chunks = plan_chunks(context, in.workspace_tokens);
    if (!chunks) return chunks.error();
    parts.extend = {
        .lengths = {longest(q), longest(n)}, .chunks = std::move(*chunks), .window = {}};
    if (in.window >= 0) {
      auto window = plan_window(q, n, in.window);
      if (!window) return window.error();
      parts.extend->window = std::move(*window);
    }
  }
  if (s.prefills > Requests(0)) {
    const Requests first = s.decodes + s.extends;
    parts.prefill = {longest(run_of(in.qo_lens, first, s.prefills)),
                     longest(run_of(kv_lens, first, s.prefills))};
  }
  return parts;
}

}  // namespace

std::int64_t ChunkPlan::columns() const {
  return longest(total_token_per_batch);
}

std::vector<std::int32_t> token_owners(std::span<const std::int32_t> cu_seq_lens,
                                       std::int64_t tokens) {
  std::vector<std::int32_t> owners(static_cast<std::size_t>(tokens), 0);
  for (const std::int32_t end : cu_seq_lens.subspan(1))
    if (end < tokens) ++owners[static_cast<std::size_t>(end)];
  std::partial_sum(owners.begin(), owners.end(), owners.begin());
  return owners;
}

Result<ChunkPlan> plan_chunks(std::span<const std::int64_t> context_lens,
                              std::int64_t workspace_tokens) {
  const auto extends = static_cast<std::int64_t>(context_lens.size());
  const std::int64_t size = extends == 0 ? 0 : workspace_tokens / extends;
  if (extends > 0 && size == 0)
    return Error{ErrorCode::unsupported, say("a workspace of ", workspace_tokens,
                                             " tokens has none for each "
                                             "of ",
                                             extends, " extends")};
  ChunkPlan plan;
  plan.num_chunks = extends == 0 ? 0 : ceil_div(longest(context_lens), size);
  if (const MaybeError bad = prefill::too_many_chunks(workspace_tokens, plan.num_chunks))
    return *bad;
  for (std::int64_t c = 0; c < plan.num_chunks; ++c) {
    std::vector<std::int64_t> lengths;
    for (const std::int64_t context : context_lens) {
      const std::int64_t start = std::min(c * size, context);
      lengths.push_back(std::min((c + 1) * size, context) - start);
      plan.chunk_starts.push_back(static_cast<std::int32_t>(start));
    }
    append_sums(plan.cu_seq_lens, lengths);
    plan.max_seq_lens.push_back(longest(lengths));
    plan.total_token_per_batch.push_back(plan.cu_seq_lens.back());
  }
  const auto stride = static_cast<std::size_t>(extends) + 1;
  const std::int64_t columns = plan.columns();
  for (std::size_t c = 0; c < static_cast<std::size_t>(plan.num_chunks); ++c) {
    const auto sums = std::span(plan.cu_seq_lens).subspan(c * stride, stride);
    const auto owners = token_owners(sums, columns);
    plan.token_to_batch.insert(plan.token_to_batch.end(), owners.begin(), owners.end());
  }
  return plan;
}

Result<WindowPlan> plan_window(std::span<const std::int64_t> qo_lens,
                               std::span<const std::int64_t> kv_lens, std::int64_t window) {
  WindowPlan plan;
  std::vector<std::int64_t> lengths;
  for (std::size_t r = 0; r < qo_lens.size(); ++r) {
    lengths.push_back(std::min(kv_lens[r], qo_lens[r] + window + 1));
    plan.seq_starts.push_back(static_cast<std::int32_t>(kv_lens[r] - lengths.back()));
  }
  const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  if (total > std::numeric_limits<std::int32_t>::max())
    return Error{ErrorCode::unsupported,
                 say("windows of ", total, " tokens in all do not fit int32 sums")};
  append_sums(plan.cu_seqlens, lengths);
  plan.max_seqlens = longest(lengths);
  plan.total_tokens = plan.cu_seqlens.back();
  plan.token_to_batch = token_owners(plan.cu_seqlens, plan.total_tokens);
  return plan;
}

Result<StepParts> plan_parts(const PartsInput& input, const HostSeqLens& kv_lens) {
  StepParts parts;
  parts.split = input.split;
  parts.decode_max_query_len = longest(run_of(input.qo_lens, Requests(0), input.split.decodes));
  return kv_lens.visit(
      [&](Lengths lengths) { return plan_with_lengths(input, lengths, std::move(parts)); },
      [&]() -> Result<StepParts> {
        if (input.split.extends + input.split.prefills == Requests(0)) return parts;
        return Error{ErrorCode::refused,
                     "extends and prefills cannot be built: the KV lengths are not on the host"};
      });
}

}  // namespace mla::fa
