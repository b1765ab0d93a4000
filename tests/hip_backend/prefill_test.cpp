// Claims about the prefill kernels, from machine code in the emulator and on a GPU: they agree with
// the CPU backend's kernels, element by element within the roundings that both may do differently.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/plan/ps_prefill.hpp"
#include "cpu_backend/prefill/attend.hpp"
#include "cpu_backend/prefill/kernels.hpp"
#include "hip_backend/code_objects.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/device/open_device.hpp"
#include "hip_backend/device_prefill.hpp"

using namespace mla;

namespace {

constexpr std::int64_t kHeads = 2;

// Requests (rows, keys) with random tensors; keys lie in any order behind `key_rows`.
struct Inputs {
  std::vector<std::int32_t> qo{0}, kv{0}, context, key_rows;
  std::vector<std::byte> q, k, v;
  Dtype dtype = Dtype::bf16;
  Arch arch = Arch::gfx950;

  Inputs(std::initializer_list<std::pair<int, int>> requests, Dtype type, Arch a)
      : dtype(type), arch(a) {
    for (const auto& [rows, keys] : requests) {
      qo.push_back(qo.back() + rows);
      kv.push_back(kv.back() + keys);
      context.push_back(keys);
    }
    for (std::int32_t i = 0; i < kv.back(); ++i)
      key_rows.push_back(static_cast<std::int32_t>(std::int64_t{i} * 7919 % kv.back()));
    std::mt19937 random(5);
    q = tensor(qo.back(), 192, random);
    k = tensor(kv.back(), 192, random);
    v = tensor(kv.back(), 128, random);
  }

  std::vector<std::byte> tensor(std::int64_t rows, std::int64_t dim, std::mt19937& random) const {
    std::normal_distribution<float> normal;
    std::vector<std::byte> bytes;
    for (std::int64_t i = 0; i < rows * kHeads * dim; ++i) {
      const float x = normal(random);
      if (dtype == Dtype::fp8) {
        bytes.push_back(std::byte{fp8_from_float(x, fp8_variant(arch))});
        continue;
      }
      const std::uint16_t bits = bf16_from_float(x, Bf16Rounding::nearest_even);
      bytes.push_back(static_cast<std::byte>(bits & 0xFFU));
      bytes.push_back(static_cast<std::byte>(bits >> 8U));
    }
    return bytes;
  }
  [[nodiscard]] cpu::ElementKind kind() const {
    if (dtype == Dtype::bf16) return cpu::ElementKind::bf16;
    return arch == Arch::gfx942 ? cpu::ElementKind::e4m3fnuz : cpu::ElementKind::e4m3fn;
  }
  [[nodiscard]] cpu::Operand operand(const std::vector<std::byte>& x, std::int64_t rows,
                                     std::int64_t dim) const {
    return {.data = x.data(), .rows = rows, .heads = kHeads, .dim = dim, .kind = kind()};
  }
};

// The same buffers as the device's answer, filled by the CPU backend.
struct Expected {
  hip::PrefillOutput result;
  std::vector<Fault> faults;
  cpu::RowsView<std::uint16_t> out;
  cpu::RowsView<float> lse;

  Expected(std::int64_t rows, std::int64_t partial_rows) {
    result.out.assign(static_cast<std::size_t>(rows * kHeads * 128), kPoisonBf16);
    const auto poison = std::bit_cast<float>(kPoisonF32);
    result.lse.assign(static_cast<std::size_t>(rows * kHeads), poison);
    result.partial_out.assign(static_cast<std::size_t>(partial_rows * kHeads * 128), poison);
    result.partial_lse.assign(static_cast<std::size_t>(partial_rows * kHeads), poison);
    out = {result.out.data(), kHeads * 128, 128};
    lse = {result.lse.data(), kHeads, 1};
  }
};

float number(std::uint16_t bits) {
  return bf16_to_float(bits);
}
float number(float value) {
  return value;
}

template <class T>
void check_close(const char* what, const std::vector<T>& cpu, const std::vector<T>& device,
                 float tolerance) {
  REQUIRE(cpu.size() == device.size());
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const float x = number(cpu[i]);
    const float y = number(device[i]);
    if (std::isnan(x) && std::isnan(y)) continue;  // written by neither
    if (x == y || std::fabs(x - y) <= tolerance) continue;
    FAIL(what << " " << i << ": " << x << " on the CPU, " << y << " on the device");
  }
}

void check_same(const Inputs& in, const Expected& cpu, const hip::PrefillOutput& device) {
  const float rounding = in.dtype == Dtype::bf16 ? 0x1p-6F : 0x1p-3F;
  check_close("output", cpu.result.out, device.out, rounding);
  check_close("LSE", cpu.result.lse, device.lse, 0x1p-12F);
  check_close("partial output", cpu.result.partial_out, device.partial_out, rounding);
  check_close("partial LSE", cpu.result.partial_lse, device.partial_lse, 0x1p-12F);
}

hip::PrefillInput device_input(const Inputs& in, bool causal) {
  return {.q = in.q,
          .k = in.k,
          .v = in.v,
          .dtype = in.dtype,
          .arch = in.arch,
          .heads = kHeads,
          .causal = causal,
          .score_scale = 0.07F,
          .qo_indptr = in.qo,
          .kv_indptr = in.kv,
          .key_rows = {},
          .plan = nullptr,
          .partial_rows = 0};
}

// The emulated device, and a GPU that this build has code for, if one is there.
std::vector<std::unique_ptr<hip::Device>> devices_for(Arch arch) {
  std::vector<std::unique_ptr<hip::Device>> list;
  list.push_back(hip::make_emulated_device(arch, {}));
  for (const char* gpu : {"hip:0", "nvidia:0"}) {
    auto device = hip::open_device(gpu);
    if (!device) continue;
    const hip::DeviceProperties& p = (*device)->properties();
    const bool fits = p.platform == hip::Platform::nvidia || p.arch == name(arch);
    if (fits && !hip::code_object(p.arch, "prefill").empty()) list.push_back(std::move(*device));
  }
  return list;
}

bool built(Arch arch) {
  if (!hip::code_object(name(arch), "prefill").empty()) return true;
  WARN("no code for " << name(arch) << ": " << hip::build_notes());
  return false;
}

}  // namespace

TEST_CASE("flash attention: ragged requests, causal and not, some without keys",
          "[hip][emulated][prefill]") {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (!built(arch)) continue;
    const Inputs in({{70, 90}, {3, 0}, {1, 40}, {0, 5}, {5, 33}}, Dtype::bf16, arch);
    for (const bool causal : {true, false}) {
      Expected cpu(in.qo.back(), 0);
      cpu::run_flash({cpu::best_path(), arch, 1, 0, cpu.faults},
                     {.q = in.operand(in.q, in.qo.back(), 192),
                      .k = in.operand(in.k, in.kv.back(), 192),
                      .v = in.operand(in.v, in.kv.back(), 128),
                      .cu_seqlens_q = in.qo,
                      .cu_seqlens_k = in.kv,
                      .causal = causal,
                      .score_scale = 0.07F,
                      .out = cpu.out,
                      .lse = cpu.lse});
      for (const auto& device : devices_for(arch)) {
        INFO(device->properties().label << " " << name(arch));
        const auto result = hip::prefill_on_device(*device, device_input(in, causal));
        if (!result) FAIL(result.error().message);
        check_same(in, cpu, *result);
      }
    }
  }
}

TEST_CASE("persistent prefill: plans with splits, in bf16 and fp8", "[hip][emulated][prefill]") {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp8}) {
      if (!built(arch)) continue;
      const Inputs in({{40, 300}, {20, 20}, {70, 200}}, dtype, arch);
      const std::int64_t units = 6;
      const auto sizes = plan::query_ps_sizes({.compute_units = ComputeUnits(units),
                                               .batch = Requests(3),
                                               .kv_heads = Heads(kHeads),
                                               .max_qo_len = 70});
      REQUIRE(sizes.ok());
      const auto plan = plan::plan_ps_prefill({.compute_units = ComputeUnits(units),
                                               .kv_heads = Heads(kHeads),
                                               .qo_indptr = in.qo,
                                               .kv_indptr = in.kv,
                                               .context_lens = in.context,
                                               .kvlen_granularity = 16,
                                               .block_size = 1},
                                              *sizes);
      if (!plan) FAIL(plan.error().message);
      const std::int64_t partial_rows = sizes->reduce_partial_map * 256;
      Expected cpu(in.qo.back(), partial_rows);
      const plan::PlanView view = plan->view();
      const cpu::PlanSpans spans{in.qo,
                                 in.kv,
                                 in.key_rows,
                                 view.work_indptr,
                                 view.work_info,
                                 view.reduce_indptr,
                                 view.reduce_final_map,
                                 view.reduce_partial_map};
      cpu::PsOutput output{.out = cpu.out,
                           .lse = cpu.lse,
                           .rows = in.qo.back(),
                           .heads = kHeads,
                           .partial_out = cpu.result.partial_out.data(),
                           .partial_lse = cpu.result.partial_lse.data(),
                           .partial_rows = partial_rows,
                           .owner = {}};
      const cpu::KernelContext context{cpu::best_path(), arch, 1, 0, cpu.faults};
      cpu::run_prefill_ps(context,
                          {.plan = spans,
                           .q = in.operand(in.q, in.qo.back(), 192),
                           .k = in.operand(in.k, in.kv.back(), 192),
                           .v = in.operand(in.v, in.kv.back(), 128),
                           .causal = true,
                           .score_scale = 0.07F},
                          output);
      cpu::run_prefill_reduce(context, spans, output);
      REQUIRE(cpu.faults.empty());
      hip::PrefillInput input = device_input(in, true);
      input.key_rows = in.key_rows;
      input.plan = &*plan;
      input.partial_rows = partial_rows;
      for (const auto& device : devices_for(arch)) {
        INFO(device->properties().label << " " << name(arch) << " " << name(dtype));
        const auto result = hip::prefill_on_device(*device, input);
        if (!result) FAIL(result.error().message);
        check_same(in, cpu, *result);
      }
    }
  }
}
