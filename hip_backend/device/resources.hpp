// Owners of what a device hands out: buffers between canaries, streams, events, graphs.
//
// All are move-only and give back what they own when they end; the device must outlive them.
// A Buffer lies between two canary pages and holds poison until it is written, so that an
// unwritten element and a write past an end both show. Sizes are bytes.
// Fails: what the device says; a damaged canary is a sentence, not an error.
#pragma once

#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/lifetime.hpp"
#include "hip_backend/device/device.hpp"

namespace mla::hip {

inline constexpr std::int64_t kCanaryBytes = 4096;
inline constexpr std::uint32_t kCanaryWord = 0xC0DEFACEU;
inline constexpr std::uint32_t kPoisonWord = 0x7FA57FA5U;  // a NaN as f32 and as two bf16

template <class HandleType>
class Owned {
 public:
  Owned() = default;
  Owned(Device& device, HandleType handle) : device_(&device), handle_(handle) {}
  Owned(Owned&& other) noexcept { swap(other); }
  Owned& operator=(Owned&& other) noexcept {
    Owned(std::move(other)).swap(*this);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (device_ != nullptr) device_->release(handle_);
  }
  [[nodiscard]] HandleType get() const { return handle_; }

 private:
  void swap(Owned& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
  }
  Device* device_ = nullptr;
  HandleType handle_{};
};

// The launches of a device run so until this ends.
class TimedLaunches {
 public:
  TimedLaunches(Device& device MLA_LIFETIME_BOUND, const LaunchTiming& timing) : device_(device) {
    device_.set_timing(timing);
  }
  TimedLaunches(const TimedLaunches&) = delete;
  TimedLaunches& operator=(const TimedLaunches&) = delete;
  ~TimedLaunches() { device_.set_timing({}); }

 private:
  Device& device_;
};

using Stream = Owned<StreamHandle>;
using Event = Owned<EventHandle>;
using Graph = Owned<GraphHandle>;

Result<Stream> make_stream(Device& device);
Result<Event> make_event(Device& device);

// The fault of a device, which is recovered; the message says whether it is. By then everything
// that was on it has been given back, and the turn is still held.
Error recovered(Device& device, Error fault);

class Buffer {
 public:
  // `bytes` rounded up to whole words, every word `word`.
  static Result<Buffer> filled(Device& device, std::string name, std::int64_t bytes,
                               std::uint32_t word);
  static Result<Buffer> poisoned(Device& device, std::string name, std::int64_t bytes);
  static Result<Buffer> holding(Device& device, std::string name, std::span<const std::byte> bytes);
  // The same with a canary of `after` bytes; with none the memory ends with the bytes, rounded up
  // to words.
  static Result<Buffer> holding(Device& device, std::string name, std::span<const std::byte> bytes,
                                std::int64_t after);
  template <class T>
  static Result<Buffer> of(Device& device, std::string name, std::span<const T> values) {
    return holding(device, std::move(name), std::as_bytes(values));
  }

  [[nodiscard]] Address address() const { return memory_.get() + kCanaryBytes; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::string& name() const MLA_LIFETIME_BOUND { return name_; }

  [[nodiscard]] MaybeError read(std::span<std::byte> to) const;
  template <class T>
  [[nodiscard]] Result<std::vector<T>> read_all() const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> values(static_cast<std::size_t>(bytes_) / sizeof(T));
    if (MaybeError bad = read(std::as_writable_bytes(std::span(values)))) return *bad;
    return values;
  }
  // Every word becomes `word` again; the canaries stay.
  [[nodiscard]] MaybeError refill(std::uint32_t word) const;
  // A sentence for each of the buffers, which are of one device, of which a canary is damaged, or
  // one why they cannot be read. They are read together: forty reads took a third of a launch.
  [[nodiscard]] static std::vector<std::string> damaged(std::span<const Buffer> buffers);

 private:
  static Result<Buffer> make(Device& device, std::string name, std::int64_t bytes,
                             std::uint32_t word, std::int64_t after);

  Device* device_ = nullptr;
  std::string name_;
  std::int64_t bytes_ = 0;
  std::int64_t after_ = 0;  // bytes of the canary after it
  Owned<Address> memory_;
};

// Puts values into a buffer of their own, which `kept` holds from then on; `at` is where they lie.
template <class Values>
MaybeError keep(Device& device, std::string name, const Values& values, std::vector<Buffer>& kept,
                Address& at) {
  auto buffer = Buffer::holding(device, std::move(name), std::as_bytes(std::span(values)));
  if (!buffer) return buffer.error();
  at = buffer->address();
  kept.push_back(std::move(*buffer));
  return std::nullopt;
}

// The bytes of a kernel's argument struct.
template <class Arguments>
std::span<const std::byte> argument_bytes(const Arguments& arguments MLA_LIFETIME_BOUND) {
  static_assert(std::is_trivially_copyable_v<Arguments>);
  return std::as_bytes(std::span(&arguments, 1));
}

}  // namespace mla::hip
