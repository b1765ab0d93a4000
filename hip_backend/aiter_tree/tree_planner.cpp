#include "hip_backend/aiter_tree/tree_planner.hpp"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "core/shape/dispatch.hpp"
#include "hip_backend/aiter_tree/message.hpp"
#include "hip_backend/aiter_tree/tree_support.hpp"
#include "hip_backend/device/emulated_device.hpp"

namespace mla::hip::aiter_tree {
namespace {

using plan::BufferSizes;

constexpr std::int64_t kMostWords = std::int64_t{1} << 28;  // of a list: 1 GiB

Result<BufferSizes> sizes_of(const std::vector<std::int64_t>& words) {
  if (words.size() != 6)
    return Error{ErrorCode::unsupported,
                 say("the size query of this AITER answers with ", words.size(), " lists, not 6")};
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] < 0 || words[i] > kMostWords)
      return Error{ErrorCode::unsupported, say("list ", i, " of the size query of this AITER has ",
                                               words[i], " words; expected 0 to ", kMostWords)};
  return BufferSizes{words[0], words[1],     words[2] / plan::kWorkItemWords,
                     words[3], words[4] / 2, words[5]};
}

void add_words(const BufferSizes& sizes, Message& asked) {
  const auto lists = plan::words_of(sizes);
  for (const std::int64_t* words : lists.all()) asked.head["words"].push_back(*words);
}

// The lists of an answer; elements that hold poison were not written.
Result<plan::Plan> plan_in(const Message& answer, const BufferSizes& sizes) {
  plan::Plan out(sizes);
  MaybeError bad;
  plan::for_each_list(
      [&](const char* named, plan::PlanBuffer& to) {
        if (bad) return;
        const auto words = answer.take<std::int32_t>(named, to.size());
        if (!words) {
          bad = words.error();
          return;
        }
        for (std::size_t i = 0; i < words->size(); ++i)
          if ((*words)[i] != plan::kPoison) to.set(static_cast<std::int64_t>(i), (*words)[i]);
      },
      out);
  if (bad) return *bad;
  return out;
}

class TreePlanner final : public plan::StepPlanner, public Dispatch {
 public:
  TreePlanner(std::shared_ptr<TreeProcess> process, const gfx::RunOptions& run)
      : process_(std::move(process)), run_(run) {}

  [[nodiscard]] Result<BufferSizes> sizes(const plan::SizeQuery& query) const override;
  [[nodiscard]] Result<plan::Plan> plan(const plan::PlanInput& input, const BufferSizes& sizes,
                                        std::uint64_t timing_seed) const override;
  [[nodiscard]] Result<BufferSizes> prefill_sizes(const plan::PsSizeQuery& query) const override;
  [[nodiscard]] Result<plan::Plan> plan_prefill(const plan::PsInput& input,
                                                const BufferSizes& sizes) const override;
  [[nodiscard]] Result<Heads> row_heads(const DispatchQuestion& question) const override;

 private:
  [[nodiscard]] Result<Heads> ask_row_heads(const DispatchQuestion& question) const;
  using Key = std::tuple<std::int64_t, Dtype, Dtype, std::int64_t, std::int64_t, bool, bool, bool>;
  mutable std::mutex turn_;
  mutable std::map<Key, Result<Heads>> told_;  // a launch each
  std::shared_ptr<TreeProcess> process_;
  gfx::RunOptions run_;
};

Result<BufferSizes> TreePlanner::sizes(const plan::SizeQuery& query) const {
  Message asked;
  asked.head = {{"call", "sizes"},
                {"compute_units", query.compute_units.count()},
                {"batch", query.batch.count()},
                {"max_seqlen_qo", query.max_qo_len},
                {"heads", query.heads.count()},
                {"q_dtype", name(query.dtype.q)},
                {"kv_dtype", name(query.dtype.kv)},
                {"is_sparse", query.sparse},
                {"fast_mode", query.fast_mode},
                {"num_kv_splits", query.num_kv_splits},
                {"intra_batch_mode", query.intra_batch_mode},
                {"max_split_per_batch", query.max_split_per_batch}};
  const auto answer = process_->ask(asked);
  if (!answer) return answer.error();
  return sizes_of(answer->head.value("words", std::vector<std::int64_t>{}));
}

Result<Heads> TreePlanner::row_heads(const DispatchQuestion& q) const {
  if (q.arch != process_->arch())
    return Error{ErrorCode::unsupported, say("this AITER runs on ", mla::name(process_->arch()),
                                             ", not on ", mla::name(q.arch))};
  const std::lock_guard<std::mutex> one(turn_);
  const Key key{q.compute_units, q.dtype.q, q.dtype.kv, q.heads,
                q.rows,          q.causal,  q.lse,      q.planned};
  const auto found = told_.find(key);
  if (found != told_.end()) return found->second;
  return told_.emplace(key, ask_row_heads(q)).first->second;
}

Result<Heads> TreePlanner::ask_row_heads(const DispatchQuestion& q) const {
  const auto taken = launched_for(*process_, {.compute_units = ComputeUnits(q.compute_units),
                                              .requests = 1,
                                              .rows = q.rows,
                                              .heads = q.heads,
                                              .dtype = q.dtype,
                                              .causal = q.causal,
                                              .lse = q.lse,
                                              .planned = q.planned});
  if (!taken) return taken.error();
  if (taken->launched.empty()) return Error{ErrorCode::unsupported, "AITER launched no kernel"};
  return Heads(taken->row_heads);
}

Result<plan::Plan> TreePlanner::plan(const plan::PlanInput& input, const BufferSizes& sizes,
                                     std::uint64_t timing_seed) const {
  if (input.kernel != plan::V12Kernel::automatic)
    return Error{ErrorCode::unsupported, "AITER chooses the kernel of planner v1.2 itself"};
  Message asked;
  asked.head = {{"call", "plan"},
                {"run", words_of(timed(run_, {.seed = timing_seed, .checked = false}))},
                {"compute_units", input.key.compute_units.count()},
                {"heads", input.key.heads_per_kv_head.count()},
                {"max_seqlen_qo", input.key.max_qo_len},
                {"uniform_qo_len", input.uniform_qo_len},
                {"q_dtype", name(input.key.dtype.q)},
                {"kv_dtype", name(input.key.dtype.kv)},
                {"causal", input.causal},
                {"page_size", input.page_size},
                {"kv_granularity", input.kv_granularity},
                {"fast_mode", input.version == plan::PlannerVersion::v1_2},
                {"intra_batch_mode", input.version == plan::PlannerVersion::v1_0},
                {"topk", input.topk},
                {"max_split_per_batch", input.max_split_per_batch},
                {"cp_round_robin", input.cp_round_robin}};
  add_words(sizes, asked);
  asked.add("qo_indptr", input.qo_indptr);
  asked.add("kv_indptr", input.kv_indptr);
  asked.add("last_page_len", input.last_page_len);
  const auto answer = process_->ask(asked);
  if (!answer) return answer.error();
  return plan_in(*answer, sizes);
}

Result<BufferSizes> TreePlanner::prefill_sizes(const plan::PsSizeQuery& query) const {
  Message asked;
  asked.head = {{"call", "prefill_sizes"},        {"compute_units", query.compute_units.count()},
                {"batch", query.batch.count()},   {"kv_heads", query.kv_heads.count()},
                {"max_qo_len", query.max_qo_len}, {"qlen_granularity", query.qlen_granularity}};
  const auto answer = process_->ask(asked);
  if (!answer) return answer.error();
  return sizes_of(answer->head.value("words", std::vector<std::int64_t>{}));
}

Result<plan::Plan> TreePlanner::plan_prefill(const plan::PsInput& input,
                                             const BufferSizes& sizes) const {
  Message asked;
  asked.head = {{"call", "prefill_plan"},
                {"run", words_of(run_)},
                {"compute_units", input.compute_units.count()},
                {"kv_heads", input.kv_heads.count()},
                {"qhead_granularity", input.qhead_granularity},
                {"qlen_granularity", input.qlen_granularity},
                {"kvlen_granularity", input.kvlen_granularity},
                {"block_size", input.block_size},
                {"causal", input.causal}};
  add_words(sizes, asked);
  asked.add("qo_indptr", input.qo_indptr);
  asked.add("kv_indptr", input.kv_indptr);
  asked.add("context_lens", input.context_lens);
  const auto answer = process_->ask(asked);
  if (!answer) return answer.error();
  return plan_in(*answer, sizes);
}

}  // namespace

std::unique_ptr<plan::StepPlanner> make_tree_planner(std::shared_ptr<TreeProcess> process,
                                                     const gfx::RunOptions& run) {
  return std::make_unique<TreePlanner>(std::move(process), run);
}

}  // namespace mla::hip::aiter_tree
