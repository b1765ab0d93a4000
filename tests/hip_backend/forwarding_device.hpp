// A device that hands everything to another one; a subclass changes what it came for.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "hip_backend/device/device.hpp"

namespace mla::hip::test {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  [[nodiscard]] const DeviceProperties& properties() const override {
    return device_->properties();
  }
  std::unique_lock<std::mutex> take_turn() override { return device_->take_turn(); }
  Result<KernelHandle> find_kernel(std::span<const std::byte> code,
                                   std::string_view name) override {
    return device_->find_kernel(code, name);
  }
  Result<Address> allocate(std::int64_t bytes) override { return device_->allocate(bytes); }
  void release(Address address) override { device_->release(address); }
  MaybeError copy_in(Address to, std::span<const std::byte> from) override {
    return device_->copy_in(to, from);
  }
  MaybeError copy_out(Address from, std::span<std::byte> to) override {
    return device_->copy_out(from, to);
  }
  MaybeError fill(Address to, std::uint32_t word, std::int64_t words) override {
    return device_->fill(to, word, words);
  }
  MaybeError copy_on(StreamHandle stream, Address to, Address from, std::int64_t bytes) override {
    return device_->copy_on(stream, to, from, bytes);
  }
  MaybeError launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                    std::span<const std::byte> arguments) override {
    return device_->launch(stream, kernel, size, arguments);
  }
  void set_timing(const LaunchTiming& timing) override { device_->set_timing(timing); }
  Result<StreamHandle> make_stream() override { return device_->make_stream(); }
  void release(StreamHandle stream) override { device_->release(stream); }
  MaybeError synchronize(StreamHandle stream) override { return device_->synchronize(stream); }
  Result<EventHandle> make_event() override { return device_->make_event(); }
  void release(EventHandle event) override { device_->release(event); }
  MaybeError record(StreamHandle stream, EventHandle event) override {
    return device_->record(stream, event);
  }
  Result<double> elapsed_ms(EventHandle from, EventHandle to) override {
    return device_->elapsed_ms(from, to);
  }
  MaybeError begin_capture(StreamHandle stream) override { return device_->begin_capture(stream); }
  Result<GraphHandle> end_capture(StreamHandle stream) override {
    return device_->end_capture(stream);
  }
  MaybeError replay(StreamHandle stream, GraphHandle graph) override {
    return device_->replay(stream, graph);
  }
  void release(GraphHandle graph) override { device_->release(graph); }
  MaybeError recover() override { return device_->recover(); }

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace mla::hip::test
