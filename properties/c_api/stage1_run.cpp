#include "properties/c_api/stage1_run.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/say.hpp"
#include "core/shape/split_count.hpp"
#include "core/units.hpp"
#include "hip_backend/calls/decode_call.hpp"
#include "properties/c_api/backend.hpp"
#include "properties/c_api/device.hpp"
#include "properties/c_api/written.hpp"

namespace mla::c_api {
namespace {

template <class T>
std::span<T> span_of(T* at, std::int64_t count) {
  if (at == nullptr) return {};
  return {at, static_cast<std::size_t>(count)};
}

std::vector<std::byte> dense(const cpu::CacheView& cache) {
  const auto row = static_cast<std::size_t>(cache.row_bytes);
  std::vector<std::byte> out(static_cast<std::size_t>(cache.slots) * row);
  for (std::int64_t slot = 0; slot < cache.slots; ++slot)
    std::memcpy(out.data() + static_cast<std::size_t>(slot) * row, cache.row(slot), row);
  return out;
}

hip::DecodeCall device_call(const cpu::Stage1Call& call, const cpu::TaskList& list) {
  hip::DecodeCall out;
  out.arch = call.arch;
  out.dtype = call.dtype;
  const std::int64_t pairs = call.q_rows * call.heads;
  out.q = span_of(call.q, pairs * call.widths.key_bytes(call.dtype.q));
  out.qo_indptr = call.qo_indptr;
  out.kv_indptr = call.kv_indptr;
  out.kv_indices = call.kv_indices;
  out.last_page_len = call.last_page_len;
  if (call.plan) {
    out.work_indptr = call.plan->work_indptr;
    out.work_info = call.plan->work_info;
  }
  out.heads = call.heads;
  out.fold = call.fold;
  out.max_qo_len = call.max_qo_len;
  out.page_size = call.page_size;
  out.splits = call.splits;
  out.granularity =
      plan::split_granularity(Heads(call.heads * call.fold), call.max_qo_len, call.dtype);
  out.longest_work = 0;
  for (const cpu::Task& task : list.tasks)
    out.longest_work = std::max(out.longest_work, task.rows());
  out.masks = call.causal && call.kernel_masks;
  out.score_scale = call.softmax_scale * call.q_scale * call.kv_scale;
  out.out_scale = call.kv_scale;
  out.out = span_of(call.out, pairs * call.widths.value().count());
  out.partial_out =
      span_of(call.partial_out, call.partial_rows * call.heads * call.widths.value().count());
  out.partial_lse = span_of(call.partial_lse, call.partial_rows * call.heads);
  return out;
}

std::string row_text(const char* tensor, std::int64_t row, std::int64_t head,
                     const cpu::Task& task) {
  return say(tensor, " row ", row, " head ", head,
             task.work >= 0 ? say(" (work ", task.work, ")") : "");
}

void expect(const cpu::Stage1Call& call, const cpu::Task& task, std::int64_t row,
            Expectation& expected) {
  const bool direct = task.direct();
  const std::int64_t value = call.widths.value().count();
  const std::int64_t to = direct ? row : task.partial_row_of(row);
  for (std::int64_t head = 0; head < call.heads; ++head) {
    const std::int64_t pair = to * call.heads + head;
    if (!direct) {
      expected.row(row_text("split_data", to, head, task), call.partial_out + pair * value, value,
                   4);
      expected.row(row_text("split_lse", to, head, task), call.partial_lse + pair, 1, 4);
      continue;
    }
    expected.row(row_text("output", to, head, task), call.out + pair * value, value, 2);
    // Without a plan the LSE of a single split is what the original leaves alone.
    if (call.plan && call.lse != nullptr)
      expected.row(row_text("lse", to, head, task), call.lse + pair, 1, 4);
  }
}

// The request of a kernel row.
std::int64_t request_of(const cpu::Stage1Call& call, std::int64_t row) {
  if (call.fold > 1) return row / (call.max_qo_len * call.fold);
  const auto end = std::upper_bound(call.qo_indptr.begin() + 1, call.qo_indptr.end(), row);
  return end - call.qo_indptr.begin() - 1;
}

// Rows beyond those of the requests, and of requests without keys, may stay unwritten.
std::vector<Fault> uncovered(const cpu::Stage1Call& call, const cpu::TaskList& list) {
  const std::int64_t rows = std::int64_t{call.qo_indptr.back()} * call.fold;
  std::vector<bool> covered(static_cast<std::size_t>(std::max<std::int64_t>(rows, 0)));
  for (const cpu::Task& task : list.tasks)
    for (std::int64_t row = task.q_begin; row < std::min(task.q_end, rows); ++row)
      covered[static_cast<std::size_t>(row)] = true;
  std::vector<Fault> faults;
  for (std::int64_t row = call.qo_indptr.front() * call.fold; row < rows; ++row) {
    if (covered[static_cast<std::size_t>(row)]) continue;
    const auto request = static_cast<std::size_t>(request_of(call, row));
    const std::int64_t pages = std::int64_t{call.kv_indptr[request + 1]} - call.kv_indptr[request];
    if (pages <= 0) continue;
    faults.push_back({say("row ", row, " of request ", request, ", which has ", pages,
                          " pages, is covered by no work: nothing writes its output"),
                      -1, -1});
  }
  return faults;
}

}  // namespace

std::optional<Failure> run_on_chosen_device(const cpu::Stage1Call& call,
                                            const cpu::TaskList& list) {
  if (std::string why = not_built_in(call.widths, "the HIP kernels of this project"); !why.empty())
    return unsupported(std::move(why));
  if (!call.plan && call.splits == 1 && call.out == nullptr)
    return Failure{MLA_UNSUPPORTED,
                   "backend hip writes the output of a single split in bf16; split_data is f32", "",
                   ""};
  hip::DecodeCall on_device = device_call(call, list);
  std::vector<std::byte> moved;
  if (call.cache.gap_bytes != 0) {
    moved = dense(call.cache);
    on_device.cache = moved;
  } else {
    on_device.cache = span_of(call.cache.bytes, call.cache.slots * call.cache.row_bytes);
  }
  std::vector<float> unwanted;
  const std::int64_t pairs = call.q_rows * call.heads;
  if (call.lse == nullptr) unwanted.resize(static_cast<std::size_t>(pairs));
  on_device.lse = call.lse != nullptr ? span_of(call.lse, pairs) : std::span<float>(unwanted);
  return on_chosen_device(
      call.arch, [&](hip::Device& device) { return hip::run_decode_call(device, on_device); });
}

std::optional<Failure> answer_for_outputs(const cpu::Stage1Call& call, const cpu::TaskList& list,
                                          const std::function<std::optional<Failure>()>& body) {
  if (!written_is_checked()) return body();
  Expectation expected;
  for (const cpu::Task& task : list.tasks)
    for (std::int64_t row = task.q_begin; row < task.q_end; ++row)
      expect(call, task, row, expected);
  expected.poison();
  if (auto bad = body()) return bad;
  std::vector<Fault> faults = uncovered(call, list);
  std::vector<Fault> unwritten = expected.finish();
  faults.insert(faults.end(), unwritten.begin(), unwritten.end());
  return failure_of_faults("stage 1", faults);
}

}  // namespace mla::c_api
