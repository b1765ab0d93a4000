#include "hip_backend/device/device_per_thread.hpp"

#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace mla::hip {
namespace {

class DevicePerThread final : public Device {
 public:
  explicit DevicePerThread(std::function<std::unique_ptr<Device>()> make)
      : make_(std::move(make)), properties_(mine().properties()) {}

  [[nodiscard]] const DeviceProperties& properties() const override { return properties_; }

  Result<Address> allocate(std::int64_t bytes) override { return mine().allocate(bytes); }
  Result<Address> allocate_filled(std::int64_t bytes, std::uint32_t word) override {
    return mine().allocate_filled(bytes, word);
  }
  void release(Address address) override { mine().release(address); }
  MaybeError copy_in(Address to, std::span<const std::byte> from) override {
    return mine().copy_in(to, from);
  }
  MaybeError copy_out(Address from, std::span<std::byte> to) override {
    return mine().copy_out(from, to);
  }
  MaybeError fill(Address to, std::uint32_t word, std::int64_t words) override {
    return mine().fill(to, word, words);
  }
  MaybeError copy_on(StreamHandle stream, Address to, Address from, std::int64_t bytes) override {
    return mine().copy_on(stream, to, from, bytes);
  }

  Result<KernelHandle> find_kernel(std::span<const std::byte> code_object,
                                   std::string_view name) override {
    return mine().find_kernel(code_object, name);
  }
  MaybeError launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                    std::span<const std::byte> arguments) override {
    return mine().launch(stream, kernel, size, arguments);
  }
  void set_timing(const LaunchTiming& timing) override { mine().set_timing(timing); }

  Result<StreamHandle> make_stream() override { return mine().make_stream(); }
  void release(StreamHandle stream) override { mine().release(stream); }
  MaybeError synchronize(StreamHandle stream) override { return mine().synchronize(stream); }

  Result<EventHandle> make_event() override { return mine().make_event(); }
  void release(EventHandle event) override { mine().release(event); }
  MaybeError record(StreamHandle stream, EventHandle event) override {
    return mine().record(stream, event);
  }
  Result<double> elapsed_ms(EventHandle from, EventHandle to) override {
    return mine().elapsed_ms(from, to);
  }

  MaybeError begin_capture(StreamHandle stream) override { return mine().begin_capture(stream); }
  Result<GraphHandle> end_capture(StreamHandle stream) override {
    return mine().end_capture(stream);
  }
  MaybeError replay(StreamHandle stream, GraphHandle graph) override {
    return mine().replay(stream, graph);
  }
  void release(GraphHandle graph) override { mine().release(graph); }

  MaybeError recover() override { return mine().recover(); }

 private:
  Device& mine() {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Device>& device = devices_[std::this_thread::get_id()];
    if (!device) device = make_();
    return *device;
  }

  std::function<std::unique_ptr<Device>()> make_;
  std::mutex mutex_;
  std::map<std::thread::id, std::unique_ptr<Device>> devices_;
  DeviceProperties properties_;
};

}  // namespace

std::unique_ptr<Device> make_device_per_thread(std::function<std::unique_ptr<Device>()> make) {
  return std::make_unique<DevicePerThread>(std::move(make));
}

}  // namespace mla::hip
