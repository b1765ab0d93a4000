#include "hip_backend/aiter/prefill.hpp"

#include <algorithm>
#include <bit>
#include <string>

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

template <class T>
Address address(const T* pointer) {
  return std::bit_cast<Address>(pointer);
}

struct Found {
  ManifestRow row;
  std::span<const std::byte> code;
};

Result<Found> find(Installation& installation, Arch arch, ElementType type, std::int64_t heads,
                   bool persistent, bool causal) {
  const Manifest* manifest = installation.manifest(arch);
  if (manifest == nullptr)
    return Error{ErrorCode::unsupported,
                 say("the AITER directory has no manifest for ", mla::name(arch)), ""};
  auto row = select_prefill(*manifest, type, heads, persistent, causal);
  if (!row) return row.error();
  const auto code = installation.code(arch, row->file);
  if (!code) return code.error();
  return Found{std::move(*row), *code};
}

}  // namespace

Result<PrefillOutput> prefill_with_plan(Device& device, Installation& installation,
                                        const PrefillInput& input) {
  const auto found = find(installation, input.arch, ElementType::fp8, 1, true, input.causal);
  if (!found) return found.error();
  const float one = 1;
  const auto attend = [&](KernelLaunch& launch, const PrefillArguments& b) -> Status {
    const float* unit = nullptr;  // the scales of the operands are part of the score scale
    const float* v_scale = nullptr;
    launch.input("unit scale", std::span(&one, 1), unit);
    launch.input("v_scale", std::span(&input.v_scale, 1), v_scale);
    PrefillKernargs k;
    k.q = address(b.q);
    k.k = address(b.k);
    k.v = address(b.v);
    k.out = address(b.out);
    k.partial_out = address(b.partial_out);
    k.partial_lse = address(b.partial_lse);
    k.work_indptr = address(b.work_indptr);
    k.work_info = address(b.work_info);
    k.qo_indptr = address(b.qo_indptr);
    k.kv_indptr = address(b.kv_indptr);
    k.kv_indices = address(b.key_rows);
    k.q_scale = address(unit);
    k.k_scale = address(unit);
    k.v_scale = address(v_scale);
    k.softmax_scale = input.score_scale;
    k.query_rows = static_cast<std::uint32_t>(input.qo_indptr.back());
    k.heads = static_cast<std::uint32_t>(input.heads);
    k.pages = static_cast<std::uint32_t>(std::ssize(input.k) / (input.heads * 192));
    k.used_pages = static_cast<std::uint32_t>(input.key_rows.size());
    const LaunchSize size = {
        .grid_x = static_cast<std::uint32_t>(input.plan->work_indptr.size() - 1),
        .threads = kPlanThreads};
    return launch.run_code(found->code, found->row.kernel, size, k);
  };
  return prefill_on_device(device, input, attend);
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
    to = address(at);
  };
  bring("q", input.q, k.q);
  bring("the cache", input.cache, k.kv);
  bring("qo_indptr", input.qo_indptr, k.qo_indptr);
  bring("kv_indptr", input.kv_indptr, k.kv_indptr);
  bring("kv_indices", input.kv_indices, k.kv_indices);
  bring("last_page_len", std::span(last), k.last_page_len);
  unsigned short* out = nullptr;
  float* lse = nullptr;
  const std::size_t output =
      launch.output("the output", rows * input.heads * kValueDim, kPoisonBf16 * 0x10001U, out);
  const std::size_t logs = launch.output("the LSE", rows * input.heads, kPoisonF32, lse);
  k.partial_out = address(out);
  k.partial_lse = address(lse);
  const auto row_bytes = static_cast<std::uint32_t>(kKeyDim * element_bytes(Dtype::bf16));
  k.softmax_scale = input.softmax_scale;
  k.packed_rows = static_cast<std::uint32_t>(input.heads);
  k.kv_splits = 1U;
  k.q_stride = row_bytes * static_cast<std::uint32_t>(input.heads);
  k.page_stride = row_bytes;
  const LaunchSize size = {
      .grid_x = static_cast<std::uint32_t>(ceil_div(longest * input.heads, kRowsPerWorkgroup)),
      .grid_y = static_cast<std::uint32_t>(requests),
      .threads = kLatentThreads};
  if (Status bad = launch.run_code(found->code, found->row.kernel, size, k)) return *bad;
  const auto written = launch.buffer(logs).read_all<float>();
  if (!written) return written.error();
  for (std::size_t i = 0; i < std::min(input.lse.size(), written->size()); ++i)
    if (std::bit_cast<std::uint32_t>((*written)[i]) != kPoisonF32) input.lse[i] = (*written)[i];
  return launch.buffer(output).read_all<std::uint16_t>();
}

}  // namespace mla::hip::aiter
