#include "hip_backend/aiter/prefill.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include "core/engine/prefill/prefill_shape.hpp"
#include "core/say.hpp"
#include "core/units.hpp"
#include "hip_backend/aiter/kernargs.hpp"
#include "hip_backend/aiter/selection.hpp"
#include "hip_backend/device/kernel_launch.hpp"
#include "hip_backend/kernels/arguments.hpp"

namespace mla::hip::aiter {
namespace {

constexpr std::uint32_t kPlanThreads = 512;
constexpr std::uint32_t kLatentThreads = 256;
constexpr std::int64_t kRowsPerWorkgroup = 128;  // packed rows, without a plan

struct Found {
  ManifestRow row;
  std::span<const std::byte> code;
};

Result<Found> find(Installation& installation, Arch arch, ElementType type, std::int64_t heads,
                   bool persistent, bool causal) {
  const Manifest* manifest = installation.manifest(arch);
  if (manifest == nullptr)
    return Error{ErrorCode::unsupported,
                 say("the AITER directory has no manifest for ", mla::name(arch))};
  auto row = select_prefill(*manifest, type, heads, persistent, causal);
  if (!row) return row.error();
  const auto code = installation.code(arch, row->file);
  if (!code) return code.error();
  return Found{std::move(*row), *code};
}

// The first of the query heads of a work (aiter.md 5), which has one.
std::int64_t head_of(const plan::WorkItem& work) {
  return work.first_head();
}

// The works of the second launch, where every work is a partial one. The kernel fills a slab of
// kTileRows rows whatever rows a work has, so each tile that was written directly gets a slab of
// its own after the partial rows of the plan; its heads share it, as those of a split tile do.
struct PartialWorks {
  std::vector<std::int32_t> words;
  std::map<std::int32_t, std::int64_t> slab;  // first scratch row, by the first row of the tile
  std::int64_t rows = 0;                      // of the scratch buffers
};

// Works that write rows of the output, by index. What a damaged plan leads to elsewhere is none.
std::vector<std::int64_t> direct_works(const PrefillInput& input) {
  const plan::Plan& plan = *input.plan;
  const std::int64_t room = plan.work_info.size() / plan::kWorkItemWords;
  std::vector<std::int64_t> direct;
  for (std::int64_t w = 0; w < std::min(plan.works(), room); ++w) {
    const plan::WorkItem work = plan.work(w);
    const bool inside =
        work.q_begin >= 0 && work.q_end <= input.qo_indptr.back() && head_of(work) < input.heads;
    if (work.partial_row < 0 && inside) direct.push_back(w);
  }
  return direct;
}

PartialWorks partial_works(const plan::Plan& plan, std::span<const std::int64_t> direct,
                           std::int64_t partial_rows) {
  PartialWorks out{.words = {plan.work_info.data().begin(), plan.work_info.data().end()},
                   .slab = {},
                   .rows = partial_rows};
  for (const std::int64_t w : direct) {
    plan::WorkItem work = plan.work(w);
    const auto [at, fresh] = out.slab.try_emplace(work.q_begin, out.rows);
    if (fresh) out.rows += prefill::kTileRows;
    work.partial_row = static_cast<std::int32_t>(at->second);
    std::ranges::copy(plan::words_of(work), out.words.begin() + w * plan::kWorkItemWords);
  }
  return out;
}

// One launch of the kernel, and a second one for the LSE that it keeps to itself.
class PlannedLaunch {
 public:
  PlannedLaunch(const Device& device, const Found& found, const PrefillInput& input)
      : label_(device.properties().label), found_(found), input_(input) {}

  MaybeError attend(KernelLaunch& launch, const PrefillArguments& b) {
    if (input_.plan->works() == 0) return std::nullopt;
    const float one = 1;
    const float* unit = nullptr;  // the scales of the operands are part of the score scale
    const float* v_scale = nullptr;
    launch.input("unit scale", std::span(&one, 1), unit);
    launch.input("v_scale", std::span(&input_.v_scale, 1), v_scale);
    PrefillKernargs k = tensors(b);
    k.q_scale = address_of(unit);
    k.k_scale = address_of(unit);
    k.v_scale = address_of(v_scale);
    if (MaybeError bad = run(launch, k, "prefill_ps")) return bad;
    return input_.direct_lse ? ask_for_lse(launch, k) : std::nullopt;
  }

  // Adds the LSE of the rows that works wrote directly, and what was launched.
  void complete(PrefillOutput& result) const {
    result.launches.add(launches_);
    for (const std::int64_t w : direct_) {
      const plan::WorkItem work = input_.plan->work(w);
      const std::int64_t head = head_of(work);
      const std::int64_t end =
          std::min<std::int64_t>(work.q_end, work.q_begin + prefill::kTileRows);
      for (std::int64_t row = work.q_begin; row < end; ++row) {
        const std::int64_t from = works_.slab.at(work.q_begin) + row - work.q_begin;
        result.lse[static_cast<std::size_t>(row * input_.heads + head)] =
            scratch_lse_[static_cast<std::size_t>(from * input_.heads + head)];
      }
    }
  }

 private:
  [[nodiscard]] PrefillKernargs tensors(const PrefillArguments& b) const {
    PrefillKernargs k;
    k.q = address_of(b.q);
    k.k = address_of(b.k);
    k.v = address_of(b.v);
    k.out = address_of(b.out);
    k.partial_out = address_of(b.partial_out);
    k.partial_lse = address_of(b.partial_lse);
    k.work_indptr = address_of(b.work_indptr);
    k.work_info = address_of(b.work_info);
    k.qo_indptr = address_of(b.qo_indptr);
    k.kv_indptr = address_of(b.kv_indptr);
    k.kv_indices = address_of(b.key_rows);
    k.softmax_scale = input_.score_scale;
    k.query_rows = static_cast<std::uint32_t>(input_.qo_indptr.back());
    k.heads = static_cast<std::uint32_t>(input_.heads);
    k.pages = static_cast<std::uint32_t>(std::ssize(input_.k) / (input_.heads * 192));
    k.used_pages = static_cast<std::uint32_t>(input_.key_rows.size());
    return k;
  }

  MaybeError run(KernelLaunch& launch, const PrefillKernargs& k, const char* what) {
    const LaunchSize size = {
        .grid_x = static_cast<std::uint32_t>(input_.plan->work_indptr.size() - 1),
        .threads = kPlanThreads};
    if (MaybeError bad = launch.run_code(found_.code, found_.row.kernel, size, k)) return bad;
    launches_.add({"aiter", label_, StepKind::prefill, what});
    return std::nullopt;
  }

  MaybeError ask_for_lse(KernelLaunch& launch, PrefillKernargs k) {
    direct_ = direct_works(input_);
    if (direct_.empty()) return std::nullopt;
    works_ = partial_works(*input_.plan, direct_, input_.partial_rows);
    const std::int64_t pairs = works_.rows * input_.heads;
    const std::int32_t* work_info = nullptr;
    float* out = nullptr;
    float* lse = nullptr;
    launch.input("works for the LSE", std::span(std::as_const(works_.words)), work_info);
    launch.output("scratch partial outputs", pairs * prefill::kVDim, kPoisonF32, out);
    const std::size_t kept = launch.output("scratch partial LSE", pairs, kPoisonF32, lse);
    k.work_info = address_of(work_info);
    k.partial_out = address_of(out);
    k.partial_lse = address_of(lse);
    if (MaybeError bad = run(launch, k, "prefill_ps for the LSE")) return bad;
    auto values = launch.buffer(kept).read_all<float>();
    if (!values) return values.error();
    scratch_lse_ = std::move(*values);
    return std::nullopt;
  }

  std::string label_;
  const Found& found_;
  const PrefillInput& input_;
  std::vector<std::int64_t> direct_;
  PartialWorks works_;
  std::vector<float> scratch_lse_;
  Launches launches_;
};

}  // namespace

MaybeError supports_planned_prefill(Installation& installation, Arch arch) {
  if (arch != Arch::gfx950)  // aiter.md 4: the entry point refuses it, and rows name absent files
    return Error{ErrorCode::unsupported, say("AITER has no prefill with a plan on ", name(arch))};
  for (const bool causal : {true, false})
    if (auto found = find(installation, arch, ElementType::fp8, 1, true, causal); !found)
      return found.error();
  return std::nullopt;
}

Result<PrefillOutput> prefill_with_plan(Device& device, Installation& installation,
                                        const PrefillInput& input) {
  const auto found = find(installation, input.arch, ElementType::fp8, 1, true, input.causal);
  if (!found) return found.error();
  PlannedLaunch planned(device, *found, input);
  auto result =
      prefill_on_device(device, input, [&planned](KernelLaunch& launch, const PrefillArguments& b) {
        return planned.attend(launch, b);
      });
  if (!result) return result;
  planned.complete(*result);
  return result;
}

Result<std::vector<std::uint16_t>> latent_prefill(Device& device, Installation& installation,
                                                  const LatentPrefillInput& input) {
  const auto found = find(installation, input.arch, ElementType::bf16, input.heads, false, false);
  if (!found) return found.error();
  const std::int64_t requests = std::ssize(input.qo_indptr) - 1;
  const std::int64_t rows = input.qo_indptr.back();
  std::int64_t longest = 0;
  for (std::size_t r = 0; r + 1 < input.qo_indptr.size(); ++r)
    longest = std::max<std::int64_t>(longest, input.qo_indptr[r + 1] - input.qo_indptr[r]);
  const std::vector<std::int32_t> last(static_cast<std::size_t>(requests), 1);
  KernelLaunch launch(device);
  DecodeKernargs k;
  const auto bring = [&launch](const char* name, auto values, Slot<Address>& to) {
    const std::byte* at = nullptr;
    launch.input(name, std::as_bytes(values), at);
    to = address_of(at);
  };
  bring("q", input.q, k.q);
  bring("the cache", input.cache, k.kv);
  bring("qo_indptr", input.qo_indptr, k.qo_indptr);
  bring("kv_indptr", input.kv_indptr, k.kv_indptr);
  bring("kv_indices", input.kv_indices, k.kv_indices);
  bring("last_page_len", std::span(last), k.last_page_len);
  unsigned short* out = nullptr;
  float* lse = nullptr;
  const std::size_t output = launch.output(
      "the output", rows * input.heads * kBuiltIn.value().count(), kPoisonBf16 * 0x10001U, out);
  const std::size_t logs = launch.output("the LSE", rows * input.heads, kPoisonF32, lse);
  k.partial_out = address_of(out);
  k.partial_lse = address_of(lse);
  const auto row_bytes = static_cast<std::uint32_t>(kBuiltIn.key_bytes(Dtype::bf16));
  k.softmax_scale = input.softmax_scale;
  k.packed_rows = static_cast<std::uint32_t>(input.heads);
  k.kv_splits = 1U;
  k.q_stride = row_bytes * static_cast<std::uint32_t>(input.heads);
  k.page_stride = row_bytes;
  const LaunchSize size = {
      .grid_x = static_cast<std::uint32_t>(ceil_div(longest * input.heads, kRowsPerWorkgroup)),
      .grid_y = static_cast<std::uint32_t>(requests),
      .threads = kLatentThreads};
  if (MaybeError bad = launch.run_code(found->code, found->row.kernel, size, k)) return *bad;
  const auto written = launch.buffer(logs).read_all<float>();
  if (!written) return written.error();
  for (std::size_t i = 0; i < std::min(input.lse.size(), written->size()); ++i)
    if (std::bit_cast<std::uint32_t>((*written)[i]) != kPoisonF32) input.lse[i] = (*written)[i];
  return launch.buffer(output).read_all<std::uint16_t>();
}

}  // namespace mla::hip::aiter
