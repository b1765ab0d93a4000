// The tensors of an FA step: on the host as a case draws them, and on the device as kernels see
// them.
//
// q and out are [rows, heads, dim], k and v [rows, kv_heads, dim] of the new tokens, the cache is
// [2, blocks, block, kv_heads, dim]; all bf16 bits. On the host the cache holds the context only:
// the step itself stores its new keys by the slot mapping. Slots that no request owns hold NaN, the
// output starts as NaN between two canaries, so that stray reads, unwritten rows and stray writes
// show. A damaged canary is a fault of the result.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/device/stream.hpp"
#include "core/engine/fa/kernels.hpp"
#include "core/engine/fa/layer.hpp"

namespace mla::fa {

struct Tensors {
  std::vector<std::uint16_t> q, k, v;
  std::vector<std::uint16_t> cache;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
  float softmax_scale = 1;
};

TensorShape shape_of(const Layer& layer, float softmax_scale);

// Where kernels leave what they found; operations run one after the other.
using SharedFaults = std::shared_ptr<std::vector<Fault>>;
using SharedLaunches = std::shared_ptr<Launches>;

struct DeviceTensors {
  TensorShape shape;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
  std::int64_t block_size = 16;
  device::DeviceBuffer<std::uint16_t> q, k, v, cache;
  device::DeviceBuffer<std::uint16_t> fenced_out;  // the output and a canary on either side
  SharedFaults faults = std::make_shared<std::vector<Fault>>();
  SharedLaunches launches = std::make_shared<Launches>();
  [[nodiscard]] KernelContext context(int threads) const { return {threads, *faults, *launches}; }

  [[nodiscard]] device::DeviceView<std::uint16_t> out() const;
  // The cache as a running kernel sees it.
  [[nodiscard]] PagedCache cache_on(const device::DeviceAccess& access) const;
};

// Queues the copies of all tensors and the poisoning of the output.
DeviceTensors upload_tensors(const Tensors& tensors, const Layer& layer, device::DeviceHeap& heap,
                             device::Stream& stream);

struct StepResult {
  std::vector<std::uint16_t> out;  // [rows, heads, dim]
  std::vector<Fault> faults;
  Launches launches;
};
// Waits for the stream.
StepResult read_result(const DeviceTensors& tensors, device::Stream& stream);

}  // namespace mla::fa
