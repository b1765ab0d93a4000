#include "hip_backend/device/null_device.hpp"

#include <utility>

namespace mla::hip {
namespace {

class NullDevice final : public Device {
 public:
  explicit NullDevice(std::string reason) : error_{ErrorCode::fault, std::move(reason)} {
    properties_.label = "null";
    properties_.model = "none";
  }
  [[nodiscard]] const DeviceProperties& properties() const override { return properties_; }
  Result<Address> allocate(std::int64_t) override { return error_; }
  void release(Address) override {}
  MaybeError copy_in(Address, std::span<const std::byte>) override { return error_; }
  MaybeError copy_out(Address, std::span<std::byte>) override { return error_; }
  MaybeError fill(Address, std::uint32_t, std::int64_t) override { return error_; }
  MaybeError copy_on(StreamHandle, Address, Address, std::int64_t) override { return error_; }
  Result<KernelHandle> find_kernel(std::span<const std::byte>, std::string_view) override {
    return error_;
  }
  MaybeError launch(StreamHandle, KernelHandle, const LaunchSize&,
                    std::span<const std::byte>) override {
    return error_;
  }
  Result<StreamHandle> make_stream() override { return error_; }
  void release(StreamHandle) override {}
  MaybeError synchronize(StreamHandle) override { return error_; }
  Result<EventHandle> make_event() override { return error_; }
  void release(EventHandle) override {}
  MaybeError record(StreamHandle, EventHandle) override { return error_; }
  Result<double> elapsed_ms(EventHandle, EventHandle) override { return error_; }
  MaybeError begin_capture(StreamHandle) override { return error_; }
  Result<GraphHandle> end_capture(StreamHandle) override { return error_; }
  MaybeError replay(StreamHandle, GraphHandle) override { return error_; }
  void release(GraphHandle) override {}
  MaybeError recover() override { return error_; }

 private:
  DeviceProperties properties_;
  Error error_;
};

}  // namespace

std::unique_ptr<Device> make_null_device(std::string reason) {
  return std::make_unique<NullDevice>(std::move(reason));
}

}  // namespace mla::hip
