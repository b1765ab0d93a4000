#include "properties/c_api/prefill_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/executor.hpp"
#include "cpu_backend/prefill/ps_works.hpp"
#include "cpu_backend/threads.hpp"
#include "hip_backend/aiter/prefill.hpp"
#include "hip_backend/prefill/device_prefill.hpp"
#include "properties/c_api/aiter/machine.hpp"
#include "properties/c_api/device.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/written.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;
using Tasks = std::vector<cpu::PsTask>;
using prefill::kVDim;

std::vector<Fault> on_cpu(const PrefillStep& step) {
  const cpu::PsOutput& wanted = step.output;
  std::vector<float> lse(static_cast<std::size_t>(wanted.rows * wanted.heads));
  cpu::PsOutput output = wanted;
  output.lse = {lse.data(), wanted.heads, 1};
  std::vector<Fault> faults;
  Launches launches;
  cpu::run_prefill_ps_scaled(
      cpu::best_path(),
      {.arch = step.arch, .threads = cpu::team(threads()), .faults = faults, .launches = launches},
      step.launch, step.v_scale, output);
  return faults;
}

std::span<const std::byte> bytes_of(const cpu::Operand& x) {
  return {x.data, static_cast<std::size_t>(x.rows * x.heads * x.dim * element_bytes(x.dtype))};
}

// The plan of the step with no merge in it.
plan::Plan plan_of(const PrefillStep& step) {
  static constexpr std::array<std::int32_t, 1> kNoTiles{};
  return plan::Plan::copy_of({plan::kNoAddresses,
                              {.work_indptr = step.launch.plan.work_indptr,
                               .work_info = step.launch.plan.work_info,
                               .reduce_indptr = kNoTiles}});
}

// What the tasks name and the device wrote, from its buffers into the caller's.
void copy_rows(const PrefillStep& step, const Tasks& tasks, const hip::PrefillOutput& from) {
  const std::int64_t heads = step.output.heads;
  for (const cpu::PsTask& task : tasks) {
    for (std::int64_t row = task.q_begin; row < task.q_end; ++row) {
      const bool direct = task.partial_row < 0;
      const std::int64_t to = direct ? row : task.partial_row + row - task.q_begin;
      const auto pair = static_cast<std::size_t>(to * heads + task.head);
      const auto values = pair * static_cast<std::size_t>(kVDim);
      if (direct) {
        if (from.out[values] != kPoisonBf16)
          std::copy_n(&from.out[values], kVDim, step.output.out.at(row, task.head));
        continue;
      }
      if (!is_poison(&from.partial_out[values], 1))
        std::copy_n(&from.partial_out[values], kVDim, step.output.partial_out + values);
      if (!is_poison(&from.partial_lse[pair], 1))
        step.output.partial_lse[pair] = from.partial_lse[pair];
    }
  }
}

MaybeFailure on_device(BackendKind backend, const PrefillStep& step, const Tasks& tasks) {
  if (backend == BackendKind::hip && step.v_scale != 1)
    return Failure{
        MLA_UNSUPPORTED,
        say("v_scale is ", step.v_scale, "; the prefill kernel of backend hip takes 1 only"), "",
        ""};
  const plan::Plan plan = plan_of(step);
  hip::PrefillInput input;
  input.q = bytes_of(step.launch.q);
  input.k = bytes_of(step.launch.k);
  input.v = bytes_of(step.launch.v);
  input.dtype = Dtype::fp8;
  input.arch = step.arch;
  input.heads = step.output.heads;
  input.causal = step.launch.causal;
  input.score_scale = step.launch.score_scale;
  input.v_scale = step.v_scale;
  input.qo_indptr = step.launch.plan.qo_indptr;
  input.kv_indptr = step.launch.plan.kv_indptr;
  input.key_rows = step.launch.plan.kv_indices;
  input.plan = &plan;
  input.partial_rows = step.output.partial_rows;
  const auto copied = [&](Result<hip::PrefillOutput> result) -> MaybeError {
    if (!result) return result.error();
    copy_rows(step, tasks, *result);
    return std::nullopt;
  };
  if (backend == BackendKind::hip)
    return on_chosen_device(step.arch, [&](hip::Device& device) {
      return copied(hip::prefill_on_device(device, input));
    });
  const auto machine = aiter::code_object_machine(step.arch);
  if (!machine) return not_there(machine.error());
  return on_emulated_device(step.arch, [&](hip::Device& device) {
    return copied(hip::aiter::prefill_with_plan(device, *machine->installation, input));
  });
}

void expect(const PrefillStep& step, const Tasks& tasks, Expectation& expected) {
  const cpu::PsOutput& o = step.output;
  for (const cpu::PsTask& task : tasks) {
    for (std::int64_t row = task.q_begin; row < task.q_end; ++row) {
      const bool direct = task.partial_row < 0;
      const std::int64_t to = direct ? row : task.partial_row + row - task.q_begin;
      const std::string where = say(" row ", to, " head ", task.head, " (work ", task.work, ")");
      if (direct) {
        expected.row("output" + where, o.out.at(row, task.head), kVDim, 2);
        continue;
      }
      const std::int64_t pair = to * o.heads + task.head;
      expected.row("split_data" + where, o.partial_out + pair * kVDim, kVDim, 4);
      expected.row("split_lse" + where, o.partial_lse + pair, 1, 4);
    }
  }
}

// Rows that see no key may stay unwritten.
std::vector<Fault> uncovered(const PrefillStep& step, const Tasks& tasks) {
  const cpu::PsOutput& o = step.output;
  const auto& plan = step.launch.plan;
  std::vector<bool> covered(static_cast<std::size_t>(o.rows * o.heads));
  for (const cpu::PsTask& task : tasks)
    for (std::int64_t row = task.q_begin; row < task.q_end; ++row)
      covered[static_cast<std::size_t>(row * o.heads + task.head)] = true;
  std::vector<Fault> faults;
  for (std::size_t r = 0; r + 1 < plan.qo_indptr.size(); ++r) {
    const std::int64_t rows = std::int64_t{plan.qo_indptr[r + 1]} - plan.qo_indptr[r];
    const std::int64_t keys = std::int64_t{plan.kv_indptr[r + 1]} - plan.kv_indptr[r];
    for (std::int64_t i = 0; i < rows && keys > 0; ++i) {
      const std::int64_t row = plan.qo_indptr[r] + i;
      if (row < 0 || row >= o.rows || (step.launch.causal && keys - rows + i < 0)) continue;
      for (std::int64_t head = 0; head < o.heads; ++head)
        if (!covered[static_cast<std::size_t>(row * o.heads + head)])
          faults.push_back({say("row ", row, " head ", head, " of request ", r, ", which has ",
                                keys, " keys, is covered by no work: nothing writes its output"),
                            -1, -1});
    }
  }
  return faults;
}

}  // namespace

MaybeFailure run_prefill(BackendKind backend, const PrefillStep& step) {
  if (backend == BackendKind::cpu && !written_is_checked())
    return failure_of_faults("prefill", on_cpu(step));
  std::vector<Fault> faults;
  cpu::PsOutput owners = step.output;
  const Tasks tasks = cpu::read_ps_works(step.launch, owners, faults);
  if (backend != BackendKind::cpu && !faults.empty()) return failure_of_faults("prefill", faults);
  Expectation expected;
  if (written_is_checked()) {
    expect(step, tasks, expected);
    expected.poison();
  }
  if (backend == BackendKind::cpu) {
    if (auto bad = failure_of_faults("prefill", on_cpu(step))) return bad;
  } else if (auto bad = on_device(backend, step, tasks)) {
    return bad;
  }
  if (!written_is_checked()) return std::nullopt;
  faults = uncovered(step, tasks);
  const std::vector<Fault> unwritten = expected.finish();
  faults.insert(faults.end(), unwritten.begin(), unwritten.end());
  return failure_of_faults("prefill", faults);
}

}  // namespace mla::c_api
