#include "cpu_backend/decode/stage1.hpp"

#include <array>
#include <atomic>
#include <exception>
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
AttendJob make_job(const Stage1& stage) {
  const ResolvedShape& shape = stage.metadata.shape;
  const bool fp8 = shape.dtype.both(Dtype::fp8);
  AttendJob job;
  job.q_kind = kind(shape.dtype.q, shape.fp8);
  job.kv_kind = kind(shape.dtype.kv, shape.fp8);
  job.key_dims = shape.widths.key().count();
  job.value_dims = shape.widths.value().count();
  job.p_kind = kind(fp8 ? Dtype::fp8 : Dtype::bf16, shape.fp8);
  job.score_scale = stage.softmax_scale * stage.q_scale * stage.kv_scale;
  job.out_scale = stage.kv_scale;
  return job;
}

// One thread's state: scratch of the data path, the addresses of a task's keys, and f32 rows of a
// task that writes bf16.
class Worker {
 public:
  Worker(const Stage1& stage, const Stage1Output& output)
      : stage_(stage),
        output_(output),
        job_(make_job(stage)),
        scratch_(make_scratch(stage.path.scratch_bytes())),
        direct_(static_cast<std::size_t>(kMaxAttendRows * job_.value_dims)) {}

  // Executes `task`. Keys of `next`, which comes after it unless it is null, are on their way then.
  void run(const Task& task, const Task* next) {
    keys_.swap(next_keys_);
    if (collected_ != &task) collect_keys(task, keys_);
    next_keys_.clear();
    if (next != nullptr) collect_keys(*next, next_keys_);
    collected_ = next;
    job_.keys = keys_.data();
    job_.key_count = static_cast<std::int64_t>(keys_.size());
    const std::int64_t packed = task.rows() * output_.heads;
    for (std::int64_t first = 0; first < packed; first += kMaxAttendRows) {
      const std::int64_t count = std::min(packed - first, kMaxAttendRows);
      const std::vector<const std::byte*>& after = first + count < packed ? keys_ : next_keys_;
      job_.next_keys = after.data();
      job_.next_key_count = static_cast<std::int64_t>(after.size());
      for (std::int64_t i = 0; i < count; ++i)
        rows_[static_cast<std::size_t>(i)] = make_row(task, first + i, i);
      job_.rows = rows_.data();
      job_.row_count = count;
      stage_.path.attend(job_, scratch_.get());
      if (task.direct()) store_bf16(task, first, count);
    }
  }

 private:
  void collect_keys(const Task& task, std::vector<const std::byte*>& keys) const {
    const KeyAddresses addresses{stage_.metadata, stage_.cache};
    keys.clear();
    for (std::int64_t start = task.keys.begin; start < task.keys.end; start += task.keys.stride)
      for (std::int64_t p = start; p < std::min(start + task.keys.run, task.keys.end); ++p)
        keys.push_back(addresses.row(addresses.slot(task, p)));
  }

  // Packed row `packed` of the task is head packed % heads of its row packed / heads.
  AttendRow make_row(const Task& task, std::int64_t packed, std::int64_t in_block) {
    const std::int64_t heads = output_.heads;
    const std::int64_t row = task.q_begin + packed / heads;
    const std::int64_t head = packed % heads;
    const ResolvedShape& shape = stage_.metadata.shape;
    const std::int64_t row_bytes = shape.widths.key_bytes(shape.dtype.q);
    AttendRow out;
    out.q = stage_.q + q_index(row, head) * row_bytes;
    out.visible = task.visible(row);
    if (task.direct()) {
      out.out = direct_.data() + in_block * job_.value_dims;
      out.lse = output_.lse != nullptr ? output_.lse + row * heads + head : &unwanted_lse_;
    } else {
      const std::int64_t partial = task.partial_row_of(row) * heads + head;
      out.out = output_.partial_out + partial * job_.value_dims;
      out.lse = output_.partial_lse + partial;
    }
    return out;
  }

  [[nodiscard]] std::int64_t q_index(std::int64_t row, std::int64_t head) const {
    if (stage_.rows == nullptr) return row * output_.heads + head;
    const RowMap& rows = *stage_.rows;
    return rows.query_row(row) * rows.padding().model.count() + rows.model_head(row, head);
  }

  void store_bf16(const Task& task, std::int64_t first, std::int64_t count) {
    const Bf16Rounding rounding = stage1_rounding(stage_.metadata.shape.arch);
    const std::int64_t begin = (task.q_begin * output_.heads + first) * job_.value_dims;
    for (std::int64_t i = 0; i < count * job_.value_dims; ++i)
      output_.out[begin + i] = bf16_from_float(direct_[static_cast<std::size_t>(i)], rounding);
  }

  const Stage1& stage_;
  const Stage1Output& output_;
  AttendJob job_;
  Scratch scratch_;
  std::vector<float> direct_;
  float unwanted_lse_ = 0;
  std::vector<const std::byte*> keys_;
  std::vector<const std::byte*> next_keys_;
  const Task* collected_ = nullptr;  // whose keys next_keys_ has
  std::array<AttendRow, kMaxAttendRows> rows_;
};

}  // namespace

void run_stage1(const Stage1& stage, std::span<const Task> tasks,
                std::span<const std::int64_t> order, const Stage1Output& output) {
  const auto count = static_cast<std::int64_t>(order.size());
  // A thread takes its next task before it runs the one that it has, while there are so many left
  // that no other thread has to wait for it. They may be gone by the time that it takes one.
  const std::int64_t early = count - std::int64_t{2} * stage.threads;
  std::atomic<std::int64_t> taken = 0;
  const auto task = [&](std::int64_t i) {
    return i < count ? &tasks[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]
                     : nullptr;
  };
  const auto work = [&] {
    Worker worker(stage, output);
    for (const Task* now = task(taken++); now != nullptr;) {
      const bool ahead = taken < early;
      const Task* next = ahead ? task(taken++) : nullptr;
      worker.run(*now, next);
      now = ahead ? next : task(taken++);
    }
  };
  std::exception_ptr thrown;
#pragma omp parallel num_threads(stage.threads)
  {
    try {
      work();
    } catch (...) {  // there is no memory; an exception must not leave the region
#pragma omp critical
      thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace mla::cpu
