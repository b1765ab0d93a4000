#include "properties/dump/calls.hpp"

#include <algorithm>
#include <utility>

#include "core/case/limits.hpp"
#include "core/say.hpp"

namespace mla::dump {
namespace {

// Query rows of a batch. An engine's largest step has some 100 thousand; what is looked at row by
// row takes about 50 bytes for each. So many requests too: where no kernel takes several rows, each
// row is planned as a request.
constexpr std::int64_t kMostRows = 4 << 20;

Error bad(const std::string& why) {
  return {ErrorCode::usage, why};
}

// Why a list is longer than that of any engine's step; nothing if it is not.
MaybeError too_many_rows(std::span<const std::int32_t> qo_indptr) {
  if (const std::int64_t requests = std::ssize(qo_indptr) - 1; requests > kMostRows)
    return bad(
        say("key 'seqlens_qo_indptr' has ", requests, " requests: expected at most ", kMostRows));
  if (qo_indptr.empty() || qo_indptr.back() <= kMostRows) return std::nullopt;
  return bad(say("key 'seqlens_qo_indptr' ends in ", qo_indptr.back(), ": expected at most ",
                 kMostRows, " query rows"));
}

// The largest buffers of a real call, v1.1 with 4096 requests on 304 compute units, have 11 million
// words.
MaybeError too_large(const plan::BufferSizes& sizes) {
  // Works and partial results are 2^60 at most: 9 * 2^60 and the few others are below 2^64.
  const auto count = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t words = count(sizes.work_indptr) + 8 * count(sizes.work_items) +
                              count(sizes.reduce_indptr) + 2 * count(sizes.reduce_final_rows) +
                              count(sizes.reduce_partial_map);
  if (words <= kMostWords) return std::nullopt;
  return bad(say("the plan buffers of this call have ", words, " words, ", sizes.work_items,
                 " works among them: expected at most ", kMostWords, " words"));
}

}  // namespace

void PlannerCall::refer_to(CallLists own) {
  lists = std::make_shared<const CallLists>(std::move(own));
  input.qo_indptr = lists->qo_indptr;
  input.kv_indptr = lists->kv_indptr;
  input.last_page_len = lists->last_page_len;
}

// Buffers are asked for with the longest query there can be: with max_seqlen_qo, or the real one
// where the planner is told 1 because every row is a request (sparse), or nothing (-1). Then the
// rows of the launch count where they are more: they choose the kernel. v1.0 gets
// as many places a request as it may split it. AITER's size query looks at intra_batch_mode in fast
// mode too, where its planner does not.
plan::SizeQuery PlannerCall::sizes() const {
  const bool sparse = input.topk >= 0;
  const std::int64_t longest = longest_request(input.qo_indptr);
  const std::int64_t real =
      sparse ? longest
             : std::max(input.uniform_qo_len > 0 ? input.uniform_qo_len : longest, launched_rows);
  const std::int64_t splits = input.max_split_per_batch > 0 ? input.max_split_per_batch : 32;
  return {.arch = input.key.arch,
          .compute_units = input.key.compute_units,
          .batch = Requests(std::max<std::int64_t>(input.batch(), 0)),
          .max_qo_len = input.key.max_qo_len > 0 && !sparse ? input.key.max_qo_len : real,
          .heads = input.key.heads_per_kv_head * input.key.kv_heads.count(),
          .dtype = input.key.dtype,
          .sparse = sparse,
          .fast_mode = input.version == plan::PlannerVersion::v1_2,
          .num_kv_splits = num_kv_splits > 0 ? num_kv_splits : splits,
          .intra_batch_mode = intra_batch_mode};
}

plan::DealtKeys PlannerCall::dealt() const {
  const std::int64_t count = ranks.value_or(0);
  const std::int64_t own = rank.value_or(-1);
  if (!input.cp_round_robin || input.page_size != 1 || count <= 1 || own < 0 || own >= count)
    return {};
  plan::DealtKeys keys{.ranks = count, .rank = own, .global_kv_indptr = {}};
  if (global_kv_indptr) keys.global_kv_indptr = *global_kv_indptr;
  return keys;
}

void PrefillCall::refer_to(PrefillLists own) {
  lists = std::make_shared<const PrefillLists>(std::move(own));
  input.qo_indptr = lists->qo_indptr;
  input.kv_indptr = lists->kv_indptr;
  input.context_lens = lists->context_lens;
}

plan::PsSizeQuery PrefillCall::sizes() const {
  return {.compute_units = input.compute_units,
          .batch = Requests(std::max<std::int64_t>(input.batch(), 0)),
          .kv_heads = input.kv_heads,
          .max_qo_len = longest_request(input.qo_indptr),
          .qlen_granularity = input.qlen_granularity};
}

std::int64_t longest_request(std::span<const std::int32_t> qo_indptr) {
  std::int64_t rows = 1;
  for (std::size_t i = 1; i < qo_indptr.size(); ++i)
    rows = std::max<std::int64_t>(rows, std::int64_t{qo_indptr[i]} - qo_indptr[i - 1]);
  return rows;
}

// A call without sizes is refused where they are asked for.
MaybeError too_large(const PlannerCall& call) {
  if (MaybeError large = too_many_rows(call.input.qo_indptr)) return large;
  if (const std::int64_t longest = longest_request(call.input.qo_indptr); longest > kMaxQoLen)
    return bad(say("key 'seqlens_qo_indptr' gives a request ", longest,
                   " query rows: expected at most ", kMaxQoLen));
  const auto sizes = plan::query_sizes(call.sizes());
  return sizes ? too_large(*sizes) : std::nullopt;
}

MaybeError too_large(const PrefillCall& call) {
  if (MaybeError large = too_many_rows(call.input.qo_indptr)) return large;
  const auto sizes = plan::query_ps_sizes(call.sizes());
  return sizes ? too_large(*sizes) : std::nullopt;
}

}  // namespace mla::dump
