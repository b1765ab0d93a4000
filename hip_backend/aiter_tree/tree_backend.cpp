#include "hip_backend/aiter_tree/tree_backend.hpp"

#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/engine/launch.hpp"
#include "core/engine/row_map.hpp"
#include "core/engine/whole_cache.hpp"
#include "core/say.hpp"
#include "hip_backend/admission/admit.hpp"
#include "hip_backend/aiter_tree/message.hpp"
#include "hip_backend/aiter_tree/tree_planner.hpp"
#include "hip_backend/aiter_tree/tree_prefill.hpp"
#include "hip_backend/device/emulated_device.hpp"

namespace mla::hip::aiter_tree {
namespace {

constexpr const char* kName = "aiter";

// The plan without the works and merges that may not run; as it is where all may.
plan::PlanLists<std::vector<std::int32_t>> admitted_lists(const plan::PlanView& plan,
                                                          const Admission& admission) {
  auto out = plan::lists_of(plan, [](const char*, plan::WordSpan words) {
    return std::vector<std::int32_t>(words.begin(), words.end());
  });
  if (admission.faults.empty()) return out;
  std::int64_t kept = 0;
  for (std::size_t slot = 0; slot + 1 < plan.work_indptr.size(); ++slot) {
    out.work_indptr[slot] = static_cast<std::int32_t>(kept);
    if (admission.skip_slot[slot] != 0) continue;
    for (std::int64_t work = plan.work_indptr[slot]; work < plan.work_indptr[slot + 1]; ++work)
      if (admission.skip[static_cast<std::size_t>(work)] == 0)
        out.set_work(kept++, plan.work(work));
  }
  out.work_indptr.back() = static_cast<std::int32_t>(kept);
  std::size_t pieces = 0;
  for (std::size_t tile = 0; tile + 1 < plan.reduce_indptr.size(); ++tile) {
    out.reduce_indptr[tile] = static_cast<std::int32_t>(pieces);
    if (admission.skip_tile[tile] != 0) continue;
    for (std::int32_t i = plan.reduce_indptr[tile]; i < plan.reduce_indptr[tile + 1]; ++i)
      out.reduce_partial_map[pieces++] = plan.reduce_partial_map[static_cast<std::size_t>(i)];
  }
  out.reduce_indptr.back() = static_cast<std::int32_t>(pieces);
  return out;
}

// Q with the kernel's heads: [rows, kernel heads, 576].
std::vector<std::byte> padded_q(const DecodeLaunch& launch) {
  const HeadPadding& heads = launch.metadata.shape.heads;
  const std::vector<std::byte>& q = launch.tensors.q;
  const auto row = static_cast<std::size_t>(kBuiltIn.key_bytes(launch.metadata.shape.dtype.q));
  const std::int64_t rows = launch.metadata.rows().count();
  std::vector<std::byte> out(static_cast<std::size_t>(rows * heads.kernel.count()) * row);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t h = 0; h < heads.kernel.count(); ++h)
      std::memcpy(
          out.data() + static_cast<std::size_t>(r * heads.kernel.count() + h) * row,
          q.data() + static_cast<std::size_t>(r * heads.model.count() + heads.source(h)) * row,
          row);
  return out;
}

Message question(const DecodeLaunch& launch, const Admission& admission, const gfx::RunOptions& run,
                 bool record_stages) {
  const DecodeMetadata& md = launch.metadata;
  const ResolvedShape& s = md.shape;
  const DecodeTensors& t = launch.tensors;
  Message asked;
  asked.head = {{"call", "decode"},
                {"run", words_of(run)},
                {"compute_units", s.compute_units.count()},
                {"rows", md.rows().count()},
                {"heads", s.heads.kernel.count()},
                {"q_dtype", name(s.dtype.q)},
                {"kv_dtype", name(s.dtype.kv)},
                {"page_size", s.page_size},
                {"max_seqlen_qo", s.max_qo_len},
                {"causal", s.causal},
                {"return_lse", s.final_lse},
                {"record_stages", record_stages},
                {"num_kv_splits", s.route == Route::split ? s.kv_splits : 0},
                {"softmax_scale", t.softmax_scale},
                {"q_scale", t.q_scale},
                {"kv_scale", t.kv_scale},
                {"first_slot", t.cache.first_slot},
                {"slots", t.cache.slots}};
  asked.add("qo_indptr", md.qo_indptr);
  asked.add("kv_indptr", md.kv_indptr);
  asked.add("kv_indices", md.kv_indices);
  asked.add("last_page_len", md.last_page_len);
  asked.add_bytes("q", padded_q(launch));
  asked.add_bytes("cache", t.cache.bytes);
  if (!md.plan) return asked;
  plan::for_each_list(
      [&asked](const std::string& named, const std::vector<std::int32_t>& words) {
        asked.add(named, words,
                  named == "work_info_set"      ? plan::kWorkItemWords
                  : named == "reduce_final_map" ? 2
                                                : 1);
      },
      admitted_lists(md.plan->view(), admission));
  return asked;
}

// Out and LSE of the model's heads.
MaybeError take_heads(const Message& answer, const DecodeMetadata& md, DecodeResult& result) {
  const HeadPadding& heads = md.shape.heads;
  const std::int64_t rows = md.rows().count();
  const std::int64_t pairs = rows * heads.kernel.count();
  const auto out = answer.take<std::uint16_t>("out", pairs * kBuiltIn.value().count());
  if (!out) return out.error();
  const auto lse = answer.take<float>("lse", pairs);
  if (!lse) return lse.error();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t h = 0; h < heads.model.count(); ++h) {
      const std::int64_t at = r * heads.kernel.count() + heads.position(h);
      const auto from = out->begin() + at * kBuiltIn.value().count();
      result.out.insert(result.out.end(), from, from + kBuiltIn.value().count());
      result.lse.push_back((*lse)[static_cast<std::size_t>(at)]);
    }
  return std::nullopt;
}

// One of the intermediate buffers, with as many elements as the plan has room for: AITER's own have
// more or fewer rows that nobody writes.
template <class T>
MaybeError take_stage(const Message& answer, const char* named, std::int64_t count, T poison,
                      std::vector<T>& to) {
  auto all = answer.take_all<T>(named);
  if (!all) return all.error();
  to = std::move(*all);
  to.resize(static_cast<std::size_t>(count), poison);
  return std::nullopt;
}

MaybeError take_stages(const Message& answer, const RowMap& rows, const Admission& admission,
                       DecodeResult& result) {
  const std::int64_t partial = admission.partial_rows * rows.row_heads();
  const std::int64_t pairs = rows.kernel_rows() * rows.row_heads();
  const auto poison = std::bit_cast<float>(kPoisonF32);
  result.footprint = admission.footprint;
  for (const MaybeError& bad :
       {take_stage(answer, "partial_out", partial * kBuiltIn.value().count(), poison,
                   result.partial_out),
        take_stage(answer, "partial_lse", partial, poison, result.partial_lse),
        take_stage(answer, "stage1_out", pairs * kBuiltIn.value().count(), kPoisonBf16,
                   result.stage1_out),
        take_stage(answer, "stage1_lse", pairs, poison, result.stage1_lse)})
    if (bad) return bad;
  return std::nullopt;
}

class TreeBackend final : public Backend {
 public:
  TreeBackend(std::shared_ptr<TreeProcess> process, const gfx::RunOptions& run)
      : process_(std::move(process)),
        run_(run),
        planner_(make_tree_planner(process_, run)),
        label_(say("emulated:", mla::name(process_->arch()))),
        prefill_(make_tree_prefill(process_, run)) {}

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] std::string_view device(StepKind kind) const override {
    const bool has = kind == StepKind::decode || (kind == StepKind::prefill && prefill_);
    return has ? std::string_view(label_) : std::string_view();
  }
  [[nodiscard]] Support supports(const ResolvedShape& shape) const override;
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override;
  [[nodiscard]] const plan::StepPlanner* planner() const override { return planner_.get(); }
  [[nodiscard]] std::string timing(std::uint64_t seed) const override { return timing_words(seed); }
  [[nodiscard]] const prefill::Kernels* prefill_kernels() const override {
    return prefill_ ? &*prefill_ : nullptr;
  }

 private:
  std::shared_ptr<TreeProcess> process_;
  gfx::RunOptions run_;
  std::unique_ptr<plan::StepPlanner> planner_;
  std::string label_;
  std::optional<prefill::Kernels> prefill_;
};

Support TreeBackend::supports(const ResolvedShape& shape) const {
  if (shape.arch != process_->arch())
    return {false, say("a case of ", mla::name(shape.arch), " does not run on device ", label_)};
  if (std::string why = not_built_in(shape.widths, "AITER's MLA kernels"); !why.empty())
    return {false, std::move(why)};
  return common_support(shape);
}

Result<DecodeResult> TreeBackend::run(const DecodeLaunch& launch,
                                      const ExecutionOptions& options) const {
  const DecodeMetadata& md = launch.metadata;
  if (Support support = supports(md.shape); !support.ok)
    return Error{ErrorCode::unsupported, support.reason};
  if (MaybeError bad = check_launch(launch)) return *bad;
  const KvCache& cache = launch.tensors.cache;
  if (const std::int64_t bytes = (cache.first_slot + cache.slots) * cache.row_bytes();
      bytes > kWholeCacheBytes)
    return Error{ErrorCode::unsupported,
                 say("a cache of ", bytes, " bytes, of which ", kWholeCacheBytes, " are taken")};
  const auto rows = RowMap::make(md);
  if (!rows) return rows.error();
  const Admission admission = admit(
      {.metadata = md, .cache = cache, .kernel_rows = rows->kernel_rows(), .fold = rows->fold()});
  if (!md.plan && !admission.faults.empty())
    return Error{ErrorCode::refused, "nothing can be left out of a launch without a plan: " +
                                         admission.faults.front().what};
  DecodeResult result;
  result.kernel_heads = rows->row_heads();
  result.faults = admission.faults;
  const auto answer =
      process_->ask(question(launch, admission, timed(run_, {options.timing_seed, options.checked}),
                             options.record_stages));
  if (!answer) return answer.error();
  if (MaybeError bad = take_heads(*answer, md, result)) return *bad;
  if (options.record_stages)
    if (MaybeError bad = take_stages(*answer, *rows, admission, result)) return *bad;
  write_keyless(md, result);
  result.launches.add({kName, label_, StepKind::decode, "stage 1", 0});
  for (auto& kernel : answer->head.value("launched", std::vector<std::string>{}))
    result.launches.add({kName, label_, StepKind::decode, std::move(kernel)});
  return result;
}

}  // namespace

std::unique_ptr<Backend> make_tree_backend(std::shared_ptr<TreeProcess> process,
                                           const gfx::RunOptions& run) {
  return std::make_unique<TreeBackend>(std::move(process), run);
}

}  // namespace mla::hip::aiter_tree
