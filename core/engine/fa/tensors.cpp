#include "core/engine/fa/tensors.hpp"

#include <algorithm>
#include <string>

#include "core/say.hpp"

namespace mla::fa {
namespace {

using device::DeviceAccess;
using device::DeviceBuffer;
using device::DeviceHeap;
using device::DeviceView;
using device::Stream;

constexpr std::size_t kFence = 64;
constexpr std::uint16_t kCanary = 0xC0DE;

DeviceBuffer<std::uint16_t> upload(const char* name, const std::vector<std::uint16_t>& host,
                                   DeviceHeap& heap, Stream& stream) {
  const auto source = std::make_shared<const std::vector<std::uint16_t>>(host);
  DeviceBuffer<std::uint16_t> target(heap, name, host.size());
  stream.copy_to_device<std::uint16_t>(name, *source, target.view());
  stream.launch(say("release the source of ", name), [source](const DeviceAccess&) {});
  return target;
}

bool intact(std::span<const std::uint16_t> fence) {
  return std::all_of(fence.begin(), fence.end(), [](std::uint16_t x) { return x == kCanary; });
}

}  // namespace

TensorShape shape_of(const Layer& layer, float softmax_scale) {
  return {.heads = layer.heads.count(),
          .kv_heads = layer.kv_heads.count(),
          .head_dim = layer.head_dim,
          .softmax_scale = softmax_scale};
}

DeviceView<std::uint16_t> DeviceTensors::out() const {
  return fenced_out.view().subview(kFence, fenced_out.size() - 2 * kFence);
}

PagedCache DeviceTensors::cache_on(const DeviceAccess& access) const {
  return {.bits = cache.view().on(access),
          .first_block = first_block,
          .blocks = blocks,
          .block_size = block_size,
          .kv_row = shape.kv_row()};
}

DeviceTensors upload_tensors(const Tensors& tensors, const Layer& layer, DeviceHeap& heap,
                             Stream& stream) {
  DeviceTensors t;
  t.shape = shape_of(layer, tensors.softmax_scale);
  t.first_block = tensors.first_block;
  t.blocks = tensors.blocks;
  t.block_size = layer.block_size;
  t.q = upload("q", tensors.q, heap, stream);
  t.k = upload("k", tensors.k, heap, stream);
  t.v = upload("v", tensors.v, heap, stream);
  t.cache = upload("cache", tensors.cache, heap, stream);
  t.fenced_out = DeviceBuffer<std::uint16_t>(heap, "out", tensors.q.size() + 2 * kFence);
  stream.launch("poison out", [view = t.fenced_out.view()](const DeviceAccess& access) {
    const auto all = view.on(access);
    std::fill(all.begin(), all.end(), kCanary);
    const auto out = all.subspan(kFence, all.size() - 2 * kFence);
    std::fill(out.begin(), out.end(), kPoisonBf16);
  });
  return t;
}

StepResult read_result(const DeviceTensors& tensors, Stream& stream) {
  std::vector<std::uint16_t> fenced(tensors.fenced_out.size());
  stream.copy_to_host("out", tensors.fenced_out.view(), std::span(fenced));
  StepResult result{
      {fenced.begin() + kFence, fenced.end() - kFence}, *tensors.faults, *tensors.launches};
  const auto all = std::span<const std::uint16_t>(fenced);
  if (!intact(all.first(kFence)))
    result.faults.push_back({"the canary before the output is damaged", -1, -1});
  if (!intact(all.last(kFence)))
    result.faults.push_back({"the canary after the output is damaged", -1, -1});
  return result;
}

}  // namespace mla::fa
