// A device that changes code objects before another device loads them: for defects in machine code.
//
// `change` gets a copy of the code of one unit ("decode"), which lives as long as the device.
// Everything else goes through as it is.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hip_backend/device/device.hpp"
#include "hip_backend/kernels/code_objects.hpp"

namespace mla::hip::test {

class ChangedCodeDevice final : public Device {
 public:
  using Change = std::function<void(std::span<std::byte> code)>;
  ChangedCodeDevice(std::unique_ptr<Device> device, const char* unit, const Change& change)
      : device_(std::move(device)), unit_(unit) {
    const auto code = code_object(device_->properties().arch, unit);
    code_.assign(code.begin(), code.end());
    change(code_);
  }

  [[nodiscard]] const DeviceProperties& properties() const override {
    return device_->properties();
  }
  Result<KernelHandle> find_kernel(std::span<const std::byte> code,
                                   std::string_view name) override {
    const bool changed = code.data() == code_object(properties().arch, unit_).data();
    return device_->find_kernel(changed ? code_ : code, name);
  }

  Result<Address> allocate(std::int64_t bytes) override { return device_->allocate(bytes); }
  void release(Address address) override { device_->release(address); }
  Status copy_in(Address to, std::span<const std::byte> from) override {
    return device_->copy_in(to, from);
  }
  Status copy_out(Address from, std::span<std::byte> to) override {
    return device_->copy_out(from, to);
  }
  Status fill(Address to, std::uint32_t word, std::int64_t words) override {
    return device_->fill(to, word, words);
  }
  Status copy_on(StreamHandle stream, Address to, Address from, std::int64_t bytes) override {
    return device_->copy_on(stream, to, from, bytes);
  }
  Status launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                std::span<const std::byte> arguments) override {
    return device_->launch(stream, kernel, size, arguments);
  }
  Result<StreamHandle> make_stream() override { return device_->make_stream(); }
  void release(StreamHandle stream) override { device_->release(stream); }
  Status synchronize(StreamHandle stream) override { return device_->synchronize(stream); }
  Result<EventHandle> make_event() override { return device_->make_event(); }
  void release(EventHandle event) override { device_->release(event); }
  Status record(StreamHandle stream, EventHandle event) override {
    return device_->record(stream, event);
  }
  Result<double> elapsed_ms(EventHandle from, EventHandle to) override {
    return device_->elapsed_ms(from, to);
  }
  Status begin_capture(StreamHandle stream) override { return device_->begin_capture(stream); }
  Result<GraphHandle> end_capture(StreamHandle stream) override {
    return device_->end_capture(stream);
  }
  Status replay(StreamHandle stream, GraphHandle graph) override {
    return device_->replay(stream, graph);
  }
  void release(GraphHandle graph) override { device_->release(graph); }
  Status recover() override { return device_->recover(); }

 private:
  std::unique_ptr<Device> device_;
  const char* unit_;
  std::vector<std::byte> code_;
};

}  // namespace mla::hip::test
