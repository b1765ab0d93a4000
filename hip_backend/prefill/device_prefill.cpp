#include "hip_backend/prefill/device_prefill.hpp"

#include "core/numeric/bf16.hpp"
#include "core/units.hpp"
#include "hip_backend/decode/rounding.hpp"
#include "hip_backend/device/kernel_launch.hpp"
#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/layout.hpp"

namespace mla::hip {
namespace {

constexpr std::int64_t kValueWidth = 128;
constexpr std::int64_t kMostRowGroups = 4;

// Both launches over one set of buffers.
class PrefillRun {
 public:
  PrefillRun(Device& device, const PrefillInput& input, const PrefillAttention& attention)
      : device_(device), input_(input), attention_(attention), launch_(device) {}

  Result<PrefillOutput> run() {
    bring();
    if (MaybeError bad = attention_ ? attention_(launch_, arguments_) : attend()) return *bad;
    if (input_.plan != nullptr)
      if (MaybeError bad = reduce()) return *bad;
    return read();
  }

 private:
  MaybeError attend() {
    const std::int64_t requests = std::ssize(input_.qo_indptr) - 1;
    const bool amd = device_.properties().platform == Platform::amd;
    const std::int64_t slots =
        input_.plan == nullptr ? requests * input_.heads : input_.plan->work_indptr.size() - 1;
    const LaunchSize size = {
        .grid_x = static_cast<std::uint32_t>(slots),
        .grid_y = kMostRowGroups,
        .threads = 256,
        .lds_bytes =
            amd ? 0U : static_cast<std::uint32_t>(prefill_lds_bytes(kNvidiaPrefill, 2, true))};
    const char* kernel = input_.dtype == Dtype::bf16 ? "prefill_bf16" : "prefill_fp8";
    if (slots == 0) return std::nullopt;
    if (MaybeError bad = launch_.run("prefill", kernel, size, arguments_)) return bad;
    count(input_.plan == nullptr ? "flash attention" : "prefill_ps");
    return std::nullopt;
  }

  void bring() {
    const std::int64_t heads = input_.heads;
    const std::int64_t rows = input_.qo_indptr.empty() ? 0 : input_.qo_indptr.back();
    const std::int64_t requests = std::ssize(input_.qo_indptr) - 1;
    PrefillArguments& a = arguments_;
    const auto tensor = [&](const char* name, std::span<const std::byte> bytes, const void*& to) {
      const std::byte* address = nullptr;
      launch_.input(name, bytes, address);
      to = address;
    };
    tensor("q", input_.q, a.q);
    tensor("k", input_.k, a.k);
    tensor("v", input_.v, a.v);
    launch_.input("qo_indptr", input_.qo_indptr, a.qo_indptr);
    launch_.input("kv_indptr", input_.kv_indptr, a.kv_indptr);
    launch_.input("key rows", input_.key_rows, a.key_rows);
    const std::int64_t works =
        input_.plan == nullptr ? requests : input_.plan->work_info.size() / plan::kWorkItemWords;
    const std::vector<unsigned char> skip(static_cast<std::size_t>(works), 0);
    launch_.input("skipped works", std::span<const unsigned char>(skip), a.skip);
    if (input_.plan != nullptr) {
      launch_.input("work_indptr", input_.plan->work_indptr.data(), a.work_indptr);
      launch_.input("work_info_set", input_.plan->work_info.data(), a.work_info);
    }
    first_output_ =
        launch_.output("the output", rows * heads * kValueWidth, kPoisonBf16 * 0x10001U, a.out);
    launch_.output("the LSE", rows * heads, kPoisonF32, a.lse);
    launch_.output("the partial outputs", input_.partial_rows * heads * kValueWidth, kPoisonF32,
                   a.partial_out);
    launch_.output("the partial LSE", input_.partial_rows * heads, kPoisonF32, a.partial_lse);
    a.heads = static_cast<int>(heads);
    a.row_groups = static_cast<int>(kMostRowGroups);
    a.causal = input_.causal ? 1 : 0;
    // The persistent kernel rounds as stage 1 does, flash attention to nearest even.
    a.rounding =
        input_.plan == nullptr ? kRoundEven : rounding_number(stage1_rounding(input_.arch));
    a.score_scale = input_.score_scale * 1.44269504088896341F;  // log2(e)
    const bool fnuz = fp8_variant(input_.arch) == Fp8Variant::e4m3fnuz;
    a.fp8_factor = fnuz ? 0x1p119F : 0x1p120F;
    a.fp8_nan = fnuz ? 0x80 : 0x7F;
  }

  MaybeError reduce() {
    const plan::PlanView plan = input_.plan->view();
    const std::int64_t tiles = std::ssize(plan.reduce_indptr) - 1;
    const std::vector<unsigned char> skip(static_cast<std::size_t>(tiles), 0);
    ReduceArguments r{};
    launch_.input("reduce_indptr", plan.reduce_indptr, r.reduce_indptr);
    launch_.input("reduce_final_map", plan.reduce_final_map, r.reduce_final_map);
    launch_.input("reduce_partial_map", plan.reduce_partial_map, r.reduce_partial_map);
    launch_.input("skipped merges", std::span<const unsigned char>(skip), r.skip);
    r.partial_out = arguments_.partial_out;
    r.partial_lse = arguments_.partial_lse;
    r.out = arguments_.out;
    r.lse = arguments_.lse;
    r.heads = arguments_.heads;
    r.dims = static_cast<int>(kValueWidth);
    r.rounding = rounding_number(reduce_rounding(input_.arch));
    r.row_groups = 8;
    const LaunchSize size = {
        .grid_x = static_cast<std::uint32_t>(tiles), .grid_y = 8, .threads = 256};
    if (tiles == 0) return std::nullopt;
    if (MaybeError bad = launch_.run("reduce", "reduce", size, r)) return bad;
    count("reduce");
    return std::nullopt;
  }

  void count(const char* kernel) {
    launches_.add({"hip", device_.properties().label, StepKind::prefill, kernel});
  }

  Result<PrefillOutput> read() {
    PrefillOutput result;
    result.launches = std::move(launches_);
    auto out = launch_.buffer(first_output_).read_all<std::uint16_t>();
    if (!out) return out.error();
    result.out = std::move(*out);
    std::size_t next = first_output_;
    for (std::vector<float>* to : {&result.lse, &result.partial_out, &result.partial_lse}) {
      auto values = launch_.buffer(++next).read_all<float>();
      if (!values) return values.error();
      *to = std::move(*values);
    }
    return result;
  }

  Device& device_;
  const PrefillInput& input_;
  const PrefillAttention& attention_;
  KernelLaunch launch_;
  PrefillArguments arguments_{};
  Launches launches_;
  std::size_t first_output_ = 0;
};

}  // namespace

Result<PrefillOutput> prefill_on_device(Device& device, const PrefillInput& input) {
  return prefill_on_device(device, input, {});
}

Result<PrefillOutput> prefill_on_device(Device& device, const PrefillInput& input,
                                        const PrefillAttention& attention) {
  const TimedLaunches timed(device, input.timing);
  return PrefillRun(device, input, attention).run();
}

}  // namespace mla::hip
