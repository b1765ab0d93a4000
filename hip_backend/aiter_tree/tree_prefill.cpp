#include "hip_backend/aiter_tree/tree_prefill.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/prefill/prefill_shape.hpp"
#include "core/say.hpp"
#include "hip_backend/aiter_tree/message.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/prefill/prefill_kernels.hpp"

namespace mla::hip::aiter_tree {
namespace {

Message question(const PrefillInput& in, const gfx::RunOptions& run) {
  Message asked;
  asked.head = {{"call", "prefill"},
                {"run", words_of(run)},
                {"compute_units", std::ssize(in.plan->work_indptr.data()) - 1},
                {"rows", in.qo_indptr.back()},
                {"heads", in.heads},
                {"dtype", name(in.dtype)},
                {"causal", in.causal},
                {"softmax_scale", in.score_scale},
                {"v_scale", in.v_scale}};
  asked.add("qo_indptr", in.qo_indptr);
  asked.add("kv_indptr", in.kv_indptr);
  asked.add("kv_indices", in.key_rows);
  asked.add_bytes("q", in.q);
  asked.add_bytes("k", in.k);
  asked.add_bytes("v", in.v);
  plan::for_each_list(
      [&asked](const std::string& named, const plan::PlanBuffer& words) {
        asked.add(named, words.data(),
                  named == "work_info_set"      ? plan::kWorkItemWords
                  : named == "reduce_final_map" ? 2
                                                : 1);
      },
      *in.plan);
  return asked;
}

Result<PrefillOutput> prefill(TreeProcess& process, const PrefillInput& in,
                              const gfx::RunOptions& run) {
  const auto answer = process.ask(question(in, run));
  if (!answer) return answer.error();
  const std::int64_t pairs = in.qo_indptr.back() * in.heads;
  PrefillOutput result;
  auto out = answer->take<std::uint16_t>("out", pairs * mla::prefill::kVDim);
  if (!out) return out.error();
  auto lse = answer->take<float>("lse", pairs);
  if (!lse) return lse.error();
  result.out = std::move(*out);
  result.lse = std::move(*lse);
  const std::string device = say("emulated:", mla::name(process.arch()));
  for (auto& kernel : answer->head.value("launched", std::vector<std::string>{}))
    result.launches.add({"aiter", device, StepKind::prefill, std::move(kernel)});
  return result;
}

}  // namespace

std::optional<prefill::Kernels> make_tree_prefill(std::shared_ptr<TreeProcess> process,
                                                  const gfx::RunOptions& run) {
  const Arch arch = process->arch();
  if (arch != Arch::gfx950) return std::nullopt;
  const auto attend = [process = std::move(process), run](const PrefillInput& in) {
    return prefill(*process, in, timed(run, {.seed = in.drawn_timing, .checked = false}));
  };
  return planned_prefill_kernels(arch, attend, OnError::no_result);
}

}  // namespace mla::hip::aiter_tree
