// Claims about the prefill kernels, from machine code in the emulator and on a GPU: what they
// return is within the bound of the dense reference, and they write what the CPU backend's kernels
// write.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/plan/ps_prefill.hpp"
#include "cpu_backend/prefill/attend.hpp"
#include "cpu_backend/prefill/kernels.hpp"
#include "cpu_backend/prefill/prefill_reference.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/device/open_device.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "hip_backend/prefill/device_prefill.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/has_code.hpp"

using namespace mla;

namespace {

constexpr std::int64_t kHeads = 2;
constexpr float kScale = 0.07F;

// Requests (rows, keys) with random tensors; keys lie in any order after `key_rows`.
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
  [[nodiscard]] cpu::Operand operand(const std::vector<std::byte>& x, std::int64_t rows,
                                     std::int64_t dim) const {
    return {.data = x.data(), .rows = rows, .heads = kHeads, .dim = dim, .dtype = dtype};
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

// Elements [first, first + count) of one of the tensors, as bf16; of fp8 this is exact.
void append(const Inputs& in, const std::vector<std::byte>& tensor, std::int64_t first,
            std::int64_t count, std::vector<std::uint16_t>& to) {
  for (auto at = static_cast<std::size_t>(first); at < static_cast<std::size_t>(first + count);
       ++at) {
    if (in.dtype == Dtype::fp8)
      to.push_back(
          bf16_from_float(fp8_to_float(static_cast<std::uint8_t>(tensor[at]), fp8_variant(in.arch)),
                          Bf16Rounding::nearest_even));
    else
      to.push_back(static_cast<std::uint16_t>(static_cast<unsigned>(tensor[2 * at]) |
                                              static_cast<unsigned>(tensor[2 * at + 1]) << 8U));
  }
}

// The inputs as the reference takes them: the last keys of a request belong to its rows, those
// before lie in a cache of single slots. `key_rows` is empty where key i is row i.
cpu::ReferenceResult reference_of(const Inputs& in, bool causal,
                                  const std::vector<std::int32_t>& key_rows) {
  Batch batch;
  prefill::PrefillTensors t;
  t.heads = kHeads;
  t.softmax_scale = kScale;
  append(in, in.q, 0, in.qo.back() * kHeads * 192, t.q);
  const std::int64_t columns = *std::max_element(in.context.begin(), in.context.end());
  for (std::size_t r = 0; r + 1 < in.qo.size(); ++r) {
    const std::int64_t rows = in.qo[r + 1] - in.qo[r];
    const std::int64_t keys = in.kv[r + 1] - in.kv[r];
    batch.requests.push_back({rows, keys});
    for (std::int64_t row = std::min<std::int64_t>(keys - rows, 0); row < 0; ++row)
      for (auto [to, dim] : {std::pair{&t.k, 192}, std::pair{&t.v, 128}})
        to->insert(to->end(), static_cast<std::size_t>(kHeads * dim), 0);  // rows without keys
    for (std::int64_t p = 0; p < keys; ++p) {
      const auto entry = static_cast<std::size_t>(in.kv[r] + p);
      const std::int64_t key = key_rows.empty() ? in.kv[r] + p : key_rows[entry];
      if (p >= keys - rows) {
        append(in, in.k, key * kHeads * 192, kHeads * 192, t.k);
        append(in, in.v, key * kHeads * 128, kHeads * 128, t.v);
        continue;
      }
      for (std::int64_t head = key * kHeads; head < (key + 1) * kHeads; ++head) {
        append(in, in.k, head * 192, 192, t.cache.bits);
        append(in, in.v, head * 128, 128, t.cache.bits);
      }
      batch.block_table.push_back(static_cast<std::int32_t>(t.cache.slots++));
    }
    batch.block_table.resize((r + 1) * static_cast<std::size_t>(columns));
  }
  batch.live = Requests(std::ssize(batch.requests));
  batch.columns = columns;
  batch.cache_blocks = t.cache.slots;
  return cpu::prefill_reference({.batch = batch,
                                 .tensors = t,
                                 .arch = in.arch,
                                 .arithmetic = in.dtype,
                                 .causal = causal,
                                 .merges = std::vector<std::int64_t>(batch.requests.size())});
}

void check_bounded(const cpu::ReferenceResult& want, const hip::PrefillOutput& got) {
  REQUIRE(want.out.size() == got.out.size());
  REQUIRE(want.lse.size() == got.lse.size());
  const auto near = [](double value, double expected, double bound) {
    return value == expected || std::fabs(value - expected) <= bound;
  };
  for (std::size_t i = 0; i < got.out.size(); ++i) {
    const double value = bf16_to_float(got.out[i]);
    if (!near(value, want.out[i], want.out_bound[i]))
      FAIL("output " << i << ": " << value << ", the reference has " << want.out[i]
                     << " and allows " << want.out_bound[i]);
  }
  for (std::size_t i = 0; i < got.lse.size(); ++i)
    if (!near(got.lse[i], want.lse[i], want.lse_bound[i]))
      FAIL("LSE " << i << ": " << got.lse[i] << ", the reference has " << want.lse[i]
                  << " and allows " << want.lse_bound[i]);
}

void check_written(const char* what, const std::vector<float>& cpu,
                   const std::vector<float>& device) {
  REQUIRE(cpu.size() == device.size());
  for (std::size_t i = 0; i < cpu.size(); ++i)
    if (std::isnan(cpu[i]) != std::isnan(device[i]))
      FAIL(what << " " << i << " is written by the " << (std::isnan(cpu[i]) ? "device" : "CPU")
                << " alone");
}

hip::PrefillInput device_input(const Inputs& in, bool causal) {
  return {.q = in.q,
          .k = in.k,
          .v = in.v,
          .dtype = in.dtype,
          .arch = in.arch,
          .heads = kHeads,
          .causal = causal,
          .score_scale = kScale,
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

bool prefill_built(Arch arch) {
  return hip::test::has_code(arch, "prefill");
}

}  // namespace

TEST_CASE("flash attention: ragged requests, causal and not, some without keys",
          "[hip][emulated][prefill]") {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (!prefill_built(arch)) continue;
    const Inputs in({{70, 90}, {3, 0}, {1, 40}, {0, 5}, {5, 33}}, Dtype::bf16, arch);
    for (const bool causal : {true, false}) {
      const cpu::ReferenceResult reference = reference_of(in, causal, {});
      for (const auto& device : devices_for(arch)) {
        INFO(device->properties().label << " " << name(arch));
        const auto result = hip::prefill_on_device(*device, device_input(in, causal));
        if (!result) FAIL(result.error().message);
        check_bounded(reference, *result);
      }
    }
  }
}

TEST_CASE("persistent prefill: plans with splits, in bf16 and fp8", "[hip][emulated][prefill]") {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp8}) {
      if (!prefill_built(arch)) continue;
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
      const cpu::PlanSpans spans{view, in.qo, in.kv, in.key_rows};
      cpu::PsOutput output{.out = cpu.out,
                           .lse = cpu.lse,
                           .rows = in.qo.back(),
                           .heads = kHeads,
                           .partial_out = cpu.result.partial_out.data(),
                           .partial_lse = cpu.result.partial_lse.data(),
                           .partial_rows = partial_rows,
                           .owner = {}};
      Launches launches;
      const cpu::KernelContext context{arch, 1, 0, cpu.faults, launches};
      cpu::run_prefill_ps(cpu::portable_path(), context,
                          {.plan = spans,
                           .q = in.operand(in.q, in.qo.back(), 192),
                           .k = in.operand(in.k, in.kv.back(), 192),
                           .v = in.operand(in.v, in.kv.back(), 128),
                           .causal = true,
                           .score_scale = kScale},
                          output);
      cpu::run_prefill_reduce(context, spans, output);
      REQUIRE(cpu.faults.empty());
      const cpu::ReferenceResult reference = reference_of(in, true, in.key_rows);
      hip::PrefillInput input = device_input(in, true);
      input.key_rows = in.key_rows;
      input.plan = &*plan;
      input.partial_rows = partial_rows;
      for (const auto& device : devices_for(arch)) {
        INFO(device->properties().label << " " << name(arch) << " " << name(dtype));
        const auto result = hip::prefill_on_device(*device, input);
        if (!result) FAIL(result.error().message);
        check_bounded(reference, *result);
        check_written("partial output", cpu.result.partial_out, result->partial_out);
        check_written("partial LSE", cpu.result.partial_lse, result->partial_lse);
      }
    }
  }
}
