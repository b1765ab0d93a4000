#include "properties/python/abi/aiter/decode_cpu.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <new>

#include "core/numeric/bf16.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "cpu_backend/data_path/data_path.hpp"
#include "properties/parallel.hpp"

namespace mla::abi::aiter {
namespace {

using cpu::AttendJob;
using cpu::AttendRow;
using cpu::ElementKind;
using cpu::kMaxAttendRows;

constexpr std::size_t kAlignment = 64;

struct AlignedDelete {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }
};

const cpu::DataPath& best_path() {
  switch (cpu::available_isas().front()) {
    case cpu::Isa::avx512:
      return *cpu::avx512_path();
    case cpu::Isa::avx2:
      return *cpu::avx2_path();
    case cpu::Isa::portable:
      break;
  }
  return cpu::portable_path();
}

ElementKind kind_of(Dtype dtype, Arch arch) {
  if (dtype == Dtype::bf16) return ElementKind::bf16;
  return fp8_variant(arch) == Fp8Variant::e4m3fn ? ElementKind::e4m3fn : ElementKind::e4m3fnuz;
}

// One thread's state: keys of a task, and f32 rows where bf16 is written.
class Worker {
 public:
  Worker(const DecodeStep& step, const cpu::DataPath& path)
      : step_(step),
        path_(path),
        scratch_(new(std::align_val_t{kAlignment}) std::byte[path.scratch_bytes()]),
        direct_(static_cast<std::size_t>(kMaxAttendRows * kValueDim)) {
    const bool fp8 = step.q_dtype == Dtype::fp8 && step.kv_dtype == Dtype::fp8;
    job_.q_kind = kind_of(step.q_dtype, step.machine.arch);
    job_.kv_kind = kind_of(step.kv_dtype, step.machine.arch);
    // Kernels with both operands in fp8 also multiply V by fp8 probabilities.
    job_.p_kind = kind_of(fp8 ? Dtype::fp8 : Dtype::bf16, step.machine.arch);
    job_.score_scale = step.softmax_scale * step.q_scale * step.kv_scale;
    job_.out_scale = step.kv_scale;
  }

  void run(const DecodeTask& task) {
    keys_.clear();
    for (std::int64_t start = task.keys.begin; start < task.keys.end; start += task.keys.stride)
      for (std::int64_t p = start; p < std::min(start + task.keys.run, task.keys.end); ++p)
        keys_.push_back(key_at(step_, task, p));
    job_.keys = keys_.data();
    job_.key_count = std::ssize(keys_);
    const std::int64_t packed = (task.q_end - task.q_begin) * step_.heads;
    for (std::int64_t first = 0; first < packed; first += kMaxAttendRows) {
      const std::int64_t count = std::min(packed - first, kMaxAttendRows);
      for (std::int64_t i = 0; i < count; ++i)
        rows_[static_cast<std::size_t>(i)] = row_of(task, first + i, i);
      job_.rows = rows_.data();
      job_.row_count = count;
      path_.attend(job_, scratch_.get());
      if (to_bf16(task))
        for (std::int64_t i = 0; i < count; ++i) store(task, first + i, i);
    }
  }

 private:
  [[nodiscard]] bool to_bf16(const DecodeTask& task) const {
    return task.partial_row < 0 || step_.bf16_partials;
  }

  [[nodiscard]] std::int64_t partial_of(const DecodeTask& task, std::int64_t packed) const {
    return (task.partial_row + packed / step_.heads * task.partial_stride) * step_.heads +
           packed % step_.heads;
  }

  // Head packed % heads of the task's row packed / heads.
  AttendRow row_of(const DecodeTask& task, std::int64_t packed, std::int64_t in_block) {
    const std::int64_t row = task.q_begin + packed / step_.heads;
    const std::int64_t index = row * step_.heads + packed % step_.heads;
    AttendRow out;
    out.q = step_.q + index * kKeyDim * element_bytes(step_.q_dtype);
    out.visible =
        task.keys.count_below(task.limits[static_cast<std::size_t>(packed / step_.heads)]);
    out.out = direct_.data() + in_block * kValueDim;
    if (task.partial_row < 0) {
      out.lse = step_.lse == nullptr ? unwanted_.data() + in_block : step_.lse + index;
    } else {
      const std::int64_t partial = partial_of(task, packed);
      out.lse = step_.split_lse + partial;
      if (!step_.bf16_partials)
        out.out = reinterpret_cast<float*>(step_.split_data) + partial * kValueDim;
    }
    return out;
  }

  void store(const DecodeTask& task, std::int64_t packed, std::int64_t in_block) {
    const Bf16Rounding rounding = stage1_rounding(step_.machine.arch);
    const std::int64_t index = task.q_begin * step_.heads + packed;
    std::uint16_t* to = task.partial_row < 0 ? step_.output + index * kValueDim
                                             : reinterpret_cast<std::uint16_t*>(step_.split_data) +
                                                   partial_of(task, packed) * kValueDim;
    const float* from = direct_.data() + in_block * kValueDim;
    for (std::int64_t d = 0; d < kValueDim; ++d) to[d] = bf16_from_float(from[d], rounding);
  }

  const DecodeStep& step_;
  const cpu::DataPath& path_;
  std::unique_ptr<std::byte[], AlignedDelete> scratch_;
  AttendJob job_;
  std::vector<float> direct_;
  std::array<float, kMaxAttendRows> unwanted_{};
  std::vector<const std::byte*> keys_;
  std::array<AttendRow, kMaxAttendRows> rows_;
};

}  // namespace

void run_on_cpu(const DecodeStep& step, const std::vector<DecodeTask>& tasks) {
  const cpu::DataPath& path = best_path();
  std::atomic<std::size_t> next = 0;
  const int workers = tasks.size() < 2 ? 1 : prop::worker_count(0);
  prop::on_workers(workers, [&] {
    Worker worker(step, path);
    for (std::size_t i = next++; i < tasks.size(); i = next++) worker.run(tasks[i]);
  });
}

}  // namespace mla::abi::aiter
