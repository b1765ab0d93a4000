#include "properties/step/decode/sequence.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "core/engine/run_decode.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"

namespace mla::prop {
namespace {

using device::DeviceAccess;
using device::DeviceBuffer;

// What one step brings along: host staging, and the tensors that its attention reads.
struct Prepared {
  Case spec;
  Batch batch;
  std::vector<std::int64_t> qo_lens;  // as the runner has them: 0 for padding
  std::vector<std::int32_t> seq_lens;
  std::vector<std::int32_t> table;  // columns of the widest step
  std::shared_ptr<const DecodeTensors> tensors;
};

Result<Prepared> prepare(const Case& spec, TensorStore& tensors, const ExecutionLimits& limits) {
  if (const MaybeError too_much = why_not_executed(spec, limits)) return *too_much;
  auto batch = make_batch(spec);
  if (!batch) return batch.error();
  Prepared out;
  out.spec = spec;
  out.batch = std::move(*batch);
  // A runner has no rows and no keys for padding; the builder gives it some. A request without rows
  // would be padding for it too, so that such a step is handed over as it is executed.
  const bool all_have_rows =
      std::ranges::all_of(spec.requests, [](const RequestSpec& r) { return r.qo_len > 0; });
  const auto& handed = out.batch.requests;
  for (std::size_t r = 0; r < handed.size(); ++r) {
    const bool padding = r >= spec.requests.size() && all_have_rows;
    out.qo_lens.push_back(padding ? 0 : handed[r].qo_len);
    out.seq_lens.push_back(padding ? 0 : static_cast<std::int32_t>(handed[r].kv_len));
  }
  out.tensors = tensors.get(spec, out.batch);
  return out;
}

// Rows of the table stretched to `columns`; entries after a request's blocks name the null block.
void widen(Prepared& step, std::int64_t columns) {
  const auto null_block =
      static_cast<std::int32_t>(step.batch.first_block + step.batch.cache_blocks - 1);
  for (std::size_t r = 0; r < step.batch.requests.size(); ++r)
    for (std::int64_t j = 0; j < columns; ++j)
      step.table.push_back(j < step.batch.columns
                               ? step.batch.table().at(static_cast<std::int64_t>(r), j)
                               : null_block);
}

struct StepDevice {
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream{ledger};
};

// The steps of one group; members in the order of their lives.
class Driver {
 public:
  Driver(std::vector<Prepared> steps, const Backend& backend, const SequenceOptions& options,
         const DecodeHooks& hooks, StepDevice& device)
      : steps_(std::move(steps)),
        backend_(backend),
        options_(options),
        hooks_(hooks),
        device_(device) {}
  Driver(const Driver&) = delete;  // queued operations know its address
  Driver& operator=(const Driver&) = delete;

  // Queues the build of step i, then its attention; an engine builds for all groups before any
  // layer runs. Each returns how many operations it queued.
  std::size_t enqueue_build(std::size_t i) {
    const std::size_t before = device_.stream.pending();
    out_.steps.push_back({.spec = steps_[i].spec});
    upload(i);
    built_ = build(i);
    return device_.stream.pending() - before;
  }
  std::size_t enqueue_attention(std::size_t i) {
    const std::size_t before = device_.stream.pending();
    if (!built_) {
      results_[i] = built_.error();
    } else {
      device_.stream.launch("tensors", [this, i, report = built_->report](const DeviceAccess&) {
        current_ = i;
        refused_ = report->refused;
      });
      attend(i, *built_);
    }
    return device_.stream.pending() - before;
  }

  // What came out, once the device has run everything.
  SequenceRun take() {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (results_[i]) out_.steps[i].result = std::move(*results_[i]);
    for (std::string& fault : device_.heap.faults()) out_.faults.push_back(std::move(fault));
    return std::move(out_);
  }

  void share_buffers_of(Driver& other) { shared_ = &other.buffers_; }

  MaybeError provision() {
    engine::StepLimits limits;
    std::int64_t columns = 1;
    for (const Prepared& s : steps_) {
      std::int64_t pages = 0;
      for (const RequestSpec& r : s.batch.requests) {
        const std::int64_t rows = std::max<std::int64_t>(r.qo_len, 1);
        limits.max_qo_len = std::max(limits.max_qo_len, rows);
        pages += rows * ceil_div(r.kv_len, s.spec.page_size);
        max_kv_len_ = std::max(max_kv_len_, r.kv_len);
      }
      limits.max_pages = std::max(limits.max_pages, pages + 1);
      limits.max_requests = std::max(limits.max_requests, std::ssize(s.batch.requests));
      columns = std::max(columns, s.batch.columns);
    }
    columns_ = columns;
    max_kv_len_ = std::max(max_kv_len_, options_.max_kv_len);
    for (Prepared& s : steps_) widen(s, columns);
    builder_ = std::make_unique<engine::DecodeStepBuilder>(steps_[0].spec, limits, hooks_,
                                                           backend_.planner());
    auto buffers = builder_->allocate(device_.heap);
    if (!buffers) return buffers.error();
    buffers_ = std::move(*buffers);
    const auto requests = static_cast<std::size_t>(limits.max_requests);
    seq_lens_ = DeviceBuffer<std::int32_t>(device_.heap, "seq_lens", requests);
    table_ = DeviceBuffer<std::int32_t>(device_.heap, "block_table",
                                        requests * static_cast<std::size_t>(columns));
    results_.resize(steps_.size());
    return std::nullopt;
  }

 private:
  void upload(std::size_t i) {
    hooks_.upload("seq_lens", steps_[i].seq_lens, staging_lens_, seq_lens_.view(), device_.stream,
                  device_.ledger);
    hooks_.upload("block_table", steps_[i].table, staging_table_, table_.view(), device_.stream,
                  device_.ledger);
  }

  Result<engine::StepMetadata> build(std::size_t i) {
    engine::CommonStep step;
    step.qo_lens = steps_[i].qo_lens;
    step.num_rows = steps_[i].batch.rows().count();
    step.max_kv_len = max_kv_len_;
    step.seq_lens = seq_lens_.view();
    step.block_table = table_.view();
    step.columns = columns_;
    device_.ledger.clear();
    if (hooks_.allocates_each_step() && i > 0) {
      auto fresh = builder_->allocate(device_.heap);
      if (!fresh) return fresh.error();
      fresh_.push_back(std::move(*fresh));
    }
    const engine::StepBuffers& own = shared_ != nullptr ? *shared_ : buffers_;
    auto md =
        builder_->build(step, fresh_.empty() ? own : fresh_.back(), device_.stream, options_.graph);
    for (const device::Transfer& t : device_.ledger.waits()) out_.build_waits.push_back(t.name);
    return md;
  }

  void attend(std::size_t i, const engine::StepMetadata& md) {
    if (!options_.graph) {
      device_.stream.launch("attention", attention(md));
      return;
    }
    if (i == 0) {
      captured_ = md;
      captured_.report = std::make_shared<engine::StepReport>();  // replays ask their own build
      device_.stream.begin_capture();
      device_.stream.launch("attention", attention(captured_));
      graph_ = device_.stream.end_capture();
    }
    // Buffers that are new in each step have other addresses than those of the captured launch.
    if (fresh_.empty() && !md.same_launch(captured_)) {
      device_.stream.launch("attention", attention(md));
      return;
    }
    out_.steps[i].replayed = true;
    hooks_.on_replay(buffers_);
    device_.stream.replay(graph_);
  }

  std::function<void(const DeviceAccess&)> attention(const engine::StepMetadata& md) {
    return [this, md](const DeviceAccess& access) {
      if (refused_) {
        results_[current_] = *refused_;
        return;
      }
      const auto loaded = md.on(access);
      if (!loaded) {
        results_[current_] = loaded.error();
        return;
      }
      if (options_.graph) look_at_tail(*loaded);
      const Prepared& step = steps_[current_];
      // Defects inside of a step are for the step alone; here are those between steps.
      results_[current_] = run_decode(
          backend_, {*loaded, *step.tensors},
          {.schedule_seed = step.spec.schedule_seed, .threads = 1, .record_stages = false},
          StepHooks::none());
    };
  }

  // A captured launch may walk the whole list: no page of an earlier step is left in it.
  void look_at_tail(const DecodeMetadata& md) {
    const auto tail = md.kv_indices.subspan(static_cast<std::size_t>(md.kv_indptr.back()));
    if (std::ranges::all_of(tail, [](std::int32_t page) { return page == -1; })) return;
    out_.faults.push_back(say("step ", current_, " leaves pages in the tail of kv_indices"));
  }

  std::vector<Prepared> steps_;
  const Backend& backend_;
  SequenceOptions options_;
  const DecodeHooks& hooks_;
  std::int64_t columns_ = 1;
  std::int64_t max_kv_len_ = 0;
  std::vector<std::int32_t> staging_lens_, staging_table_;
  std::vector<std::optional<Result<DecodeResult>>> results_;
  SequenceRun out_;
  std::size_t current_ = 0;  // the step whose tensors the device sees
  MaybeError refused_;       // what the device found out while it built that step
  StepDevice& device_;
  DeviceBuffer<std::int32_t> seq_lens_, table_;
  engine::StepBuffers buffers_;
  const engine::StepBuffers* shared_ = nullptr;
  std::vector<engine::StepBuffers> fresh_;
  std::unique_ptr<engine::DecodeStepBuilder> builder_;
  Result<engine::StepMetadata> built_ = engine::StepMetadata{};  // of the step being queued
  engine::StepMetadata captured_;
  device::Graph graph_;
};

}  // namespace

std::vector<Case> steps_of(const Case& c) {
  std::vector<Case> steps;
  const auto add = [&](std::vector<RequestSpec> requests) {
    Case step = c;
    step.later_steps.clear();
    step.requests = std::move(requests);
    steps.push_back(std::move(step));
  };
  if (c.later_steps.empty()) {
    std::vector<RequestSpec> longer = c.requests;
    for (RequestSpec& r : longer)
      if (r.qo_len > 0) r.kv_len = std::max(r.kv_len, r.qo_len) + 37;
    longer.push_back(longer.front());
    add(longer);
  }
  add(c.requests);
  for (const auto& later : c.later_steps) add(later);
  if (c.later_steps.empty()) {
    const std::size_t half = (c.requests.size() + 1) / 2;
    add({c.requests.begin(), c.requests.begin() + static_cast<std::ptrdiff_t>(half)});
  }
  return steps;
}

Result<std::vector<SequenceRun>> run_groups(const std::vector<std::vector<Case>>& groups,
                                            const Backend& backend, const SequenceOptions& options,
                                            const DecodeHooks& hooks) {
  TensorStore own;
  TensorStore& tensors = options.tensors != nullptr ? *options.tensors : own;
  StepDevice device;
  std::deque<Driver> drivers;
  for (const std::vector<Case>& steps : groups) {
    std::size_t most = 0;
    for (const Case& c : steps)
      most = std::max(most, c.requests.size() + static_cast<std::size_t>(c.pad_requests));
    std::vector<Prepared> prepared;
    for (Case c : steps) {
      // A captured launch has a fixed number of requests.
      if (options.graph) c.pad_requests = static_cast<std::int64_t>(most - c.requests.size());
      auto step = prepare(c, tensors, options.limits);
      if (!step) return step.error();
      prepared.push_back(std::move(*step));
    }
    Driver& driver = drivers.emplace_back(std::move(prepared), backend, options, hooks, device);
    if (MaybeError bad = driver.provision()) return *bad;
    if (hooks.groups_share_buffers() && drivers.size() > 1)
      driver.share_buffers_of(drivers.front());
  }
  std::deque<std::size_t> queued;  // operations of each step that the device has not run yet
  for (std::size_t i = 0; i < groups.front().size(); ++i) {
    std::size_t operations = 0;
    for (Driver& driver : drivers) operations += driver.enqueue_build(i);
    for (Driver& driver : drivers) operations += driver.enqueue_attention(i);
    queued.push_back(operations);
    while (queued.size() > options.ahead) {
      device.stream.advance(queued.front());
      queued.pop_front();
    }
  }
  device.stream.advance();
  std::vector<SequenceRun> runs;
  for (Driver& driver : drivers) runs.push_back(driver.take());
  return runs;
}

Result<SequenceRun> run_sequence(const std::vector<Case>& steps, const Backend& backend,
                                 const SequenceOptions& options, const DecodeHooks& hooks) {
  auto runs = run_groups({steps}, backend, options, hooks);
  if (!runs) return runs.error();
  return std::move(runs->front());
}

}  // namespace mla::prop
