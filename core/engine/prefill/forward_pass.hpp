// ForwardPass: the state that the operations of one forward pass share until the last has run.
//
// Each method queues operations and returns at once. Buffers start as poison and are fenced by
// canaries. Private to core/engine/prefill. Units: rows of the step, heads of the model unless
// named kernel heads. Fails: as the kernels do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/device/stream.hpp"
#include "core/engine/guarded_buffer.hpp"
#include "core/engine/prefill/kernels.hpp"
#include "core/engine/prefill/operands.hpp"
#include "core/engine/prefill/scratch.hpp"

namespace mla::prefill {

// An output and its LSE, where they are to be written.
struct Target {
  RowsView<std::uint16_t> out;
  RowsView<float> lse;
  [[nodiscard]] Target from_row(std::int64_t row) const {
    return {out.from_row(row), lse.from_row(row)};
  }
  [[nodiscard]] State state() const {
    return {{out.data, out.row_stride, out.head_stride},
            {lse.data, lse.row_stride, lse.head_stride}};
  }
};

// Memory of a target. Kernels keep the LSE as [heads, rows]; `width` elements lie from one head's
// output to the next.
struct StateBuffer {
  StateBuffer(const std::string& name, std::int64_t rows, std::int64_t heads, std::int64_t width)
      : out(name + " output", rows * heads * width),
        lse(name + " LSE", rows * heads),
        rows(rows),
        heads(heads),
        width(width) {}
  [[nodiscard]] Target target() {
    return {{out.data(), heads * width, width}, {lse.data(), 1, rows}};
  }
  GuardedBuffer<std::uint16_t> out;
  GuardedBuffer<float> lse;
  std::int64_t rows, heads, width;
};

class ForwardPass : public std::enable_shared_from_this<ForwardPass> {
 public:
  ForwardPass(const PrefillLaunch& launch, const Kernels& kernels, const ExecutionOptions& options,
              device::Stream& stream, device::DeviceView<std::byte> scratch, PrefillResult& result);
  void queue();

 private:
  using Operation = std::function<void(const device::DeviceAccess&)>;
  // The operation keeps the pass alive.
  void launch(std::string name, Operation operation);
  [[nodiscard]] KernelContext context();

  void queue_new_tokens(const Target& target);
  void queue_context(const Target& prefix);
  void queue_chunk(std::size_t index, const Target& target);
  void queue_accumulate(std::size_t index, const Target& partial, const Target& prefix);
  void queue_neutral(const Target& prefix);
  void queue_merge(const Target& prefix, const Target& suffix);
  void queue_collect();

  // Operands of the fp8 kernel, cast when the stream comes to it.
  struct Fp8Operands {
    std::vector<std::byte> q_bytes, k_bytes, v_bytes;
    Operand q, k, v;
  };
  using MakeOperands = std::function<void(Fp8Operands&)>;
  struct PsRun {
    const PlanFields& fields;
    std::int64_t rows = 0;
    bool causal = true;
    Target target;
  };
  void queue_ps(const PsRun& run, MakeOperands make_operands);

  [[nodiscard]] Operand rows_from(const std::vector<std::uint16_t>& tensor, std::int64_t dim,
                                  std::int64_t row) const;

  const PrefillMetadata& md_;
  const PrefillTensors& tensors_;
  const Kernels kernels_;
  const ExecutionOptions options_;
  device::Stream& stream_;
  const device::DeviceView<std::byte> scratch_;
  PrefillResult& result_;
  const std::int64_t rows_;
  const std::int64_t heads_;
  std::vector<Fault> faults_;
  Launches launches_;
  MaybeError no_result_;

  GuardedBuffer<std::uint16_t> out_;  // [rows, heads, kVDim]
  GuardedBuffer<float> lse_;          // [rows, heads]
  std::vector<std::unique_ptr<StateBuffer>> states_;
  std::unique_ptr<GuardedBuffer<std::uint16_t>> context_keys_, context_values_;
};

}  // namespace mla::prefill
