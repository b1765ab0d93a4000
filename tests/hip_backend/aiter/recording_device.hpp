// A device that runs nothing and keeps what it is asked: launches with their arguments, and memory
// that can be looked into.
//
// Kernels have the names that find_kernel() is given. Fails: an address outside of its memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hip_backend/device/device.hpp"

namespace mla::hip::aiter::test {

struct Recorded {
  std::string kernel;
  LaunchSize size;
  std::vector<std::byte> arguments;
  LaunchTiming timing;
  // A slot of 16 bytes of the arguments, as the number that stands there.
  [[nodiscard]] std::uint64_t at(std::size_t offset) const;
};

class RecordingDevice : public Device {
 public:
  explicit RecordingDevice(std::string arch);
  std::vector<Recorded> launches;

  // What lies at an address that a launch was given.
  template <class T>
  [[nodiscard]] std::vector<T> memory(Address from, std::size_t count) {
    std::vector<T> values(count);
    if (copy_out(from, std::as_writable_bytes(std::span(values)))) values.clear();
    return values;
  }

  [[nodiscard]] const DeviceProperties& properties() const override { return properties_; }
  Result<Address> allocate(std::int64_t bytes) override;
  void release(Address address) override { memory_.erase(address); }
  MaybeError copy_in(Address to, std::span<const std::byte> from) override;
  MaybeError copy_out(Address from, std::span<std::byte> to) override;
  MaybeError fill(Address to, std::uint32_t word, std::int64_t words) override;
  MaybeError copy_on(StreamHandle, Address to, Address from, std::int64_t bytes) override;
  Result<KernelHandle> find_kernel(std::span<const std::byte>, std::string_view name) override;
  MaybeError launch(StreamHandle, KernelHandle kernel, const LaunchSize& size,
                    std::span<const std::byte> arguments) override;
  void set_timing(const LaunchTiming& timing) override { timing_ = timing; }
  Result<StreamHandle> make_stream() override { return StreamHandle{1}; }
  void release(StreamHandle) override {}
  MaybeError synchronize(StreamHandle) override { return std::nullopt; }
  Result<EventHandle> make_event() override { return EventHandle{1}; }
  void release(EventHandle) override {}
  MaybeError record(StreamHandle, EventHandle) override { return std::nullopt; }
  Result<double> elapsed_ms(EventHandle, EventHandle) override { return 0.0; }
  MaybeError begin_capture(StreamHandle) override { return std::nullopt; }
  Result<GraphHandle> end_capture(StreamHandle) override { return GraphHandle{1}; }
  MaybeError replay(StreamHandle, GraphHandle) override { return std::nullopt; }
  void release(GraphHandle) override {}
  MaybeError recover() override { return std::nullopt; }

 private:
  // The bytes at an address, or null.
  std::byte* find(Address at, std::size_t bytes);

  LaunchTiming timing_;
  DeviceProperties properties_;
  std::map<Address, std::vector<std::byte>> memory_;
  Address next_ = 0x10000;
  std::vector<std::string> kernels_;
};

}  // namespace mla::hip::aiter::test
