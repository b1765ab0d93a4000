#include "cpu_backend/stage1.hpp"

#include <array>
#include <memory>
#include <new>

#include "core/numeric/bf16.hpp"

namespace mla::cpu {
namespace {

constexpr std::size_t kAlignment = 64;

struct AlignedDelete {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }
};
using Scratch = std::unique_ptr<std::byte[], AlignedDelete>;

Scratch make_scratch(std::size_t bytes) {
  return Scratch(new (std::align_val_t{kAlignment}) std::byte[bytes]);
}

ElementKind kind(Dtype dtype, Fp8Variant fp8) {
  if (dtype == Dtype::bf16) return ElementKind::bf16;
  return fp8 == Fp8Variant::e4m3fn ? ElementKind::e4m3fn : ElementKind::e4m3fnuz;
}

// Kernels with both operands in fp8 also multiply V by fp8 probabilities; all others by bf16.
AttendJob make_job(const DecodeLaunch& launch) {
  const ResolvedShape& shape = launch.metadata.shape;
  const DecodeTensors& t = launch.tensors;
  const bool fp8 = shape.dtype.both(Dtype::fp8);
  AttendJob job;
  job.q_kind = kind(shape.dtype.q, shape.fp8);
  job.kv_kind = kind(shape.dtype.kv, shape.fp8);
  job.p_kind = kind(fp8 ? Dtype::fp8 : Dtype::bf16, shape.fp8);
  job.score_scale = t.softmax_scale * t.q_scale * t.kv_scale;
  job.out_scale = t.kv_scale;
  return job;
}

// One thread's state: scratch of the data path, the addresses of a task's keys, and f32 rows of a
// task that writes bf16.
class Worker {
 public:
  Worker(const Stage1& stage, KernelBuffers& buffers)
      : stage_(stage),
        buffers_(buffers),
        job_(make_job(stage.launch)),
        scratch_(make_scratch(stage.path.scratch_bytes())),
        direct_(static_cast<std::size_t>(kMaxAttendRows * kValueDim)) {}

  void run(const Task& task) {
    collect_keys(task);
    job_.keys = keys_.data();
    job_.key_count = static_cast<std::int64_t>(keys_.size());
    const std::int64_t packed = task.rows() * buffers_.heads;
    for (std::int64_t first = 0; first < packed; first += kMaxAttendRows) {
      const std::int64_t count = std::min(packed - first, kMaxAttendRows);
      for (std::int64_t i = 0; i < count; ++i)
        rows_[static_cast<std::size_t>(i)] = make_row(task, first + i, i);
      job_.rows = rows_.data();
      job_.row_count = count;
      stage_.path.attend(job_, scratch_.get());
      if (task.direct()) store_bf16(task, first, count);
    }
  }

 private:
  void collect_keys(const Task& task) {
    const KeyAddresses addresses{stage_.launch.metadata, stage_.launch.tensors.cache};
    keys_.clear();
    for (std::int64_t start = task.keys.begin; start < task.keys.end; start += task.keys.stride)
      for (std::int64_t p = start; p < std::min(start + task.keys.run, task.keys.end); ++p)
        keys_.push_back(addresses.row(addresses.slot(task, p)));
  }

  // Packed row `packed` of the task is head packed % heads of its row packed / heads.
  AttendRow make_row(const Task& task, std::int64_t packed, std::int64_t in_block) {
    const std::int64_t heads = buffers_.heads;
    const std::int64_t row = task.q_begin + packed / heads;
    const std::int64_t head = packed % heads;
    const HeadPadding& padding = stage_.rows.padding();
    const std::int64_t q_index =
        stage_.rows.query_row(row) * padding.model.count() + stage_.rows.model_head(row, head);
    const std::int64_t row_bytes = kKeyDim * element_bytes(stage_.launch.metadata.shape.dtype.q);
    AttendRow out;
    out.q = stage_.launch.tensors.q.data() + q_index * row_bytes;
    out.visible = task.visible(row);
    if (task.direct()) {
      out.out = direct_.data() + in_block * kValueDim;
      out.lse = buffers_.lse.data() + row * heads + head;
    } else {
      const std::int64_t partial = task.partial_row_of(row) * heads + head;
      out.out = buffers_.partial_out.data() + partial * kValueDim;
      out.lse = buffers_.partial_lse.data() + partial;
    }
    return out;
  }

  void store_bf16(const Task& task, std::int64_t first, std::int64_t count) {
    const Bf16Rounding rounding = stage1_rounding(stage_.launch.metadata.shape.arch);
    const std::int64_t begin = (task.q_begin * buffers_.heads + first) * kValueDim;
    for (std::int64_t i = 0; i < count * kValueDim; ++i)
      buffers_.out.data()[begin + i] =
          bf16_from_float(direct_[static_cast<std::size_t>(i)], rounding);
  }

  const Stage1& stage_;
  KernelBuffers& buffers_;
  AttendJob job_;
  Scratch scratch_;
  std::vector<float> direct_;
  std::vector<const std::byte*> keys_;
  std::array<AttendRow, kMaxAttendRows> rows_;
};

}  // namespace

void run_stage1(const Stage1& stage, std::span<const Task> tasks,
                std::span<const std::int64_t> order, KernelBuffers& buffers) {
  const auto count = static_cast<std::int64_t>(order.size());
#pragma omp parallel num_threads(stage.threads)
  {
    Worker worker(stage, buffers);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < count; ++i)
      worker.run(tasks[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
  }
}

}  // namespace mla::cpu
