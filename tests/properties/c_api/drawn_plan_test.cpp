// Claims about planner calls that are drawn and made through the C interface: sizes, words and page
// lists are those of the core, what no planner writes stays, and a buffer that is too small is
// named.
#include <algorithm>
#include <array>
#include <bit>

#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "properties/step/subject.hpp"
#include "tests/properties/c_api/caller.hpp"
#include "tests/properties/drawn.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;
using namespace mla::test;

namespace {

enum class WrongCall : std::uint8_t { nothing, granularity, split, rows, heads, causal };

constexpr std::int32_t kLeft = 987654321;  // what a caller finds where nothing was written

// The six buffers of a caller, with one word more than the planner knows of after each.
class CallerBuffers {
 public:
  explicit CallerBuffers(const plan::BufferSizes& sizes)
      : lists_(plan::lists_of(words_of(sizes), [](const char*, std::int64_t words) {
          return std::vector<std::int32_t>(static_cast<std::size_t>(words) + 1, kLeft);
        })) {
    const auto tensor = [](std::vector<std::int32_t>& words, std::int64_t width) {
      const std::int64_t all = std::ssize(words) - 1;
      return width == 1 ? c_tensor(words.data(), MLA_DTYPE_I32, {all})
                        : c_tensor(words.data(), MLA_DTYPE_I32, {all / width, width});
    };
    tensors_ = {c_tensor(meta_.data(), MLA_DTYPE_U64, {2}),
                tensor(lists_.work_indptr, 1),
                tensor(lists_.work_info, plan::kWorkItemWords),
                tensor(lists_.reduce_indptr, 1),
                tensor(lists_.reduce_final_map, 2),
                tensor(lists_.reduce_partial_map, 1)};
  }
  [[nodiscard]] mla_plan_buffers arguments() const {
    return {&tensors_[0], &tensors_[1], &tensors_[2], &tensors_[3], &tensors_[4], &tensors_[5]};
  }
  // The first word that is not the plan's.
  [[nodiscard]] std::string differ(const plan::Plan& plan) const {
    std::string out;
    plan::for_each_list(
        [&](const char* name, const std::vector<std::int32_t>& found,
            const plan::PlanBuffer& wanted) {
          const auto word = [&](std::int64_t i) {
            return wanted.written(i) ? wanted.at(i) : kLeft;
          };
          for (std::int64_t i = 0; i <= wanted.size() && out.empty(); ++i)
            if (found[static_cast<std::size_t>(i)] != word(i))
              out = say(name, "[", i, "] is ", found[static_cast<std::size_t>(i)],
                        " through C, and ", word(i));
        },
        lists_, plan);
    if (out.empty() && (meta_[0] != std::bit_cast<std::uintptr_t>(lists_.work_indptr.data()) ||
                        meta_[1] != std::bit_cast<std::uintptr_t>(lists_.work_info.data())))
      out = "work_meta_data does not lead to work_indptr and work_info_set";
    return out;
  }

 private:
  std::array<std::uint64_t, 2> meta_{};
  plan::PlanLists<std::vector<std::int32_t>> lists_;
  std::array<aiter_tensor_t, 6> tensors_{};
};

mla_decode_plan_options options_of(const plan::PlanInput& in, WrongCall wrong) {
  mla_decode_plan_options o;
  mla_decode_plan_defaults(&o);
  o.arch = c_arch(in.key.arch);
  o.compute_units = in.key.compute_units.count();
  o.num_heads_per_head_k = in.key.heads_per_kv_head.count() + (wrong == WrongCall::heads ? 16 : 0);
  o.num_heads_k = in.key.kv_heads.count();
  o.is_causal = in.causal != (wrong == WrongCall::causal) ? 1 : 0;
  o.page_size = in.page_size;
  o.kv_granularity = in.kv_granularity * (wrong == WrongCall::granularity ? 4 : 1);
  o.max_seqlen_qo = in.key.max_qo_len;
  o.uni_seqlen_qo = in.uniform_qo_len + (wrong == WrongCall::rows && in.uniform_qo_len > 0 ? 1 : 0);
  o.fast_mode = in.version == plan::PlannerVersion::v1_2 ? 1 : 0;
  o.intra_batch_mode = in.version == plan::PlannerVersion::v1_0 ? 1 : 0;
  o.topk = in.topk;
  o.max_split_per_batch = wrong == WrongCall::split ? 1 : in.max_split_per_batch;
  o.is_cp_round_robin = in.cp_round_robin ? 1 : 0;
  o.dtype_q = c_dtype(in.key.dtype.q);
  o.dtype_kv = c_dtype(in.key.dtype.kv);
  o.experimental = in.key.experimental ? 1 : 0;
  o.v12_kernel = static_cast<std::int64_t>(in.kernel);
  o.as_aiter = in.fidelity == plan::Fidelity::as_aiter ? 1 : 0;
  return o;
}

std::string sizes_differ(const plan::SizeQuery& q, const plan::BufferSizes& wanted) {
  const mla_decode_size_query query = {.arch = c_arch(q.arch),
                                       .compute_units = q.compute_units.count(),
                                       .batch_size = q.batch.count(),
                                       .max_seqlen_qo = q.max_qo_len,
                                       .num_head_qo = q.heads.count(),
                                       .q_dtype = c_dtype(q.dtype.q),
                                       .kv_dtype = c_dtype(q.dtype.kv),
                                       .is_sparse = q.sparse ? 1 : 0,
                                       .fast_mode = q.fast_mode ? 1 : 0,
                                       .num_kv_splits = q.num_kv_splits,
                                       .intra_batch_mode = q.intra_batch_mode ? 1 : 0,
                                       .max_split_per_batch = q.max_split_per_batch,
                                       .experimental = q.experimental ? 1 : 0};
  mla_buffer_sizes s = {};
  if (mla_decode_sizes(&query, &s) != MLA_OK) return say("sizes: ", mla_last_error());
  const plan::BufferSizes found = {s.work_meta_data, s.work_indptr,       s.work_items,
                                   s.reduce_indptr,  s.reduce_final_rows, s.reduce_partial_map};
  return found == wanted ? "" : "mla_decode_sizes gives other sizes than the core";
}

// One of the lists that a caller allocated shorter than the planner writes it: the status, the
// list, and no word past its end.
std::string overrun(const plan::PlanInput& input, const plan::BufferSizes& sizes,
                    const mla_decode_plan_options& safe, const aiter_tensor_t (&lists)[3]) {
  const auto full = plan::make_plan(input, sizes);
  if (!full || full->works() < 1) return {};
  plan::BufferSizes small = sizes;
  small.work_items = full->works() - 1;
  plan::PlanInput as_aiter = input;
  as_aiter.fidelity = plan::Fidelity::as_aiter;
  mla_decode_plan_options options = safe;
  options.as_aiter = 1;
  const auto wanted = plan::make_plan(as_aiter, small);
  if (!wanted) return {};
  const CallerBuffers buffers(small);
  const mla_plan_buffers arguments = buffers.arguments();
  const int status = mla_plan_decode(&options, &lists[0], &lists[1], &lists[2], &arguments);
  const bool over = !wanted->work_info.overruns().empty();
  if (over != (status == MLA_OVERRUN))
    return say("works for ", small.work_items, " of ", full->works(), ": status ", status);
  if (over && std::string(mla_last_error()).find("work_info_set: ") != 0)
    return say("the list that is too small is not named: ", mla_last_error());
  return buffers.differ(*wanted);
}

std::string pages_differ(const Batch& batch, const DecodeMetadata& md, std::int64_t spare) {
  const std::int64_t page = md.shape.page_size;
  std::vector<std::int32_t> indices(static_cast<std::size_t>(md.kv_indptr.back() + spare),
                                    plan::kPoison);
  const aiter_tensor_t table = c_tensor(batch.block_table.data(), MLA_DTYPE_I32,
                                        {std::ssize(batch.requests), batch.columns});
  const aiter_tensor_t kv_indptr =
      c_tensor(md.kv_indptr.data(), MLA_DTYPE_I32, {std::ssize(md.kv_indptr)});
  const aiter_tensor_t to = c_tensor(indices.data(), MLA_DTYPE_I32, {std::ssize(indices)});
  if (mla_expand_pages(&table, &kv_indptr, nullptr, batch.block_size / page, &to) != MLA_OK)
    return say("mla_expand_pages: ", mla_last_error());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const bool live = static_cast<std::int64_t>(i) < md.kv_indptr.back();
    const std::int32_t wanted = live ? md.kv_indices[i] : plan::kPoison;
    if (indices[i] != wanted) return say("kv_indices[", i, "] is ", indices[i], ", not ", wanted);
  }
  return {};
}

Outcome plan_holds(const Case& c, WrongCall wrong) {
  if (c.kind() != StepKind::decode) return skipped("no decode step");
  Subject subject(c, cpu_backend(), nullptr);
  const auto& md = subject.metadata();
  if (!md) return refusal(md.error());
  if (!md->plan) return skipped("no plan");
  const PlanQuestion asked = DecodeMetadataBuilder({}, StepHooks::none()).question(*md);
  const auto sizes = plan::query_sizes(asked.query);
  if (!sizes) return refusal(sizes.error());
  if (std::string bad = sizes_differ(asked.query, *sizes); !bad.empty()) return failed(bad);
  const auto wanted = plan::make_plan(asked.input, *sizes);
  if (!wanted) return refusal(wanted.error());
  const auto list = [](std::span<const std::int32_t> words) {
    return c_tensor(words.data(), MLA_DTYPE_I32, {std::ssize(words)});
  };
  const aiter_tensor_t lists[3] = {list(asked.input.qo_indptr), list(asked.input.kv_indptr),
                                   list(asked.input.last_page_len)};
  const mla_decode_plan_options options = options_of(asked.input, wrong);
  const CallerBuffers buffers(*sizes);
  const mla_plan_buffers arguments = buffers.arguments();
  if (mla_plan_decode(&options, &lists[0], &lists[1], &lists[2], &arguments) != MLA_OK)
    return failed(say("mla_plan_decode: ", mla_last_error()));
  std::string bad = buffers.differ(*wanted);
  if (bad.empty()) bad = overrun(asked.input, *sizes, options, lists);
  if (bad.empty() && md->shape.route == Route::persistent)
    bad = pages_differ(*subject.batch(), *md, 2);
  return bad.empty() ? passed() : failed(bad);
}

DrawnClaim planner_calls(std::int64_t cases, WrongCall wrong = WrongCall::nothing,
                         std::uint64_t seed = 1) {
  return {"drawn calls: a plan, its sizes and its pages are those of the core, and no word more",
          {Regime::boundary, Regime::tiles, Regime::batch, Regime::gate},
          cases,
          [wrong](const Case& c) { return plan_holds(c, wrong); },
          seed};
}

}  // namespace

TEST_CASE("drawn calls: a plan, its sizes and its pages are those of the core, and no word more",
          "[c_api][drawn]") {
  require_drawn(planner_calls(400));
}

TEST_CASE("drawn calls: an argument of a planner that is another one is noticed",
          "[c_api][drawn]") {
  for (const WrongCall wrong : {WrongCall::granularity, WrongCall::split, WrongCall::rows,
                                WrongCall::heads, WrongCall::causal}) {
    INFO(static_cast<int>(wrong));
    require_noticed(planner_calls(200, wrong));
  }
}

TEST_CASE("drawn calls of planners, many", "[.nightly]") {
  require_drawn(planner_calls(10000, WrongCall::nothing, 2));
}
