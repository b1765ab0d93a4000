#include "hip_backend/device/resources.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "core/units.hpp"

namespace mla::hip {
namespace {

constexpr std::int64_t kWord = sizeof(std::uint32_t);

}  // namespace

Result<Stream> make_stream(Device& device) {
  const Result<StreamHandle> handle = device.make_stream();
  if (!handle) return handle.error();
  return Stream(device, *handle);
}

Result<Event> make_event(Device& device) {
  const Result<EventHandle> handle = device.make_event();
  if (!handle) return handle.error();
  return Event(device, *handle);
}

Error recovered(Device& device, Error fault) {
  const MaybeError still_broken = device.recover();
  fault.message += still_broken ? "; the device does not recover: " + still_broken->message
                                : "; the device has recovered";
  return fault;
}

Result<Buffer> Buffer::make(Device& device, std::string name, std::int64_t bytes,
                            std::uint32_t word, std::int64_t after_bytes) {
  Buffer buffer;
  buffer.after_ = after_bytes;
  buffer.device_ = &device;
  buffer.name_ = std::move(name);
  buffer.bytes_ = round_up(bytes, kWord);
  const Result<Address> memory =
      device.allocate_filled(kCanaryBytes + buffer.bytes_ + after_bytes, word);
  if (!memory) {
    Error error = memory.error();
    error.message = say(buffer.name_, ", ", bytes, " bytes: ", error.message);
    return error;
  }
  buffer.memory_ = Owned<Address>(device, *memory);
  if (word == kCanaryWord) return buffer;
  const Address begin = *memory;
  if (MaybeError bad = device.fill(begin, kCanaryWord, kCanaryBytes / kWord)) return *bad;
  const Address after = buffer.address() + static_cast<Address>(buffer.bytes_);
  if (after_bytes > 0)
    if (MaybeError bad = device.fill(after, kCanaryWord, after_bytes / kWord)) return *bad;
  return buffer;
}

Result<Buffer> Buffer::poisoned(Device& device, std::string name, std::int64_t bytes) {
  return filled(device, std::move(name), bytes, kPoisonWord);
}

Result<Buffer> Buffer::filled(Device& device, std::string name, std::int64_t bytes,
                              std::uint32_t word) {
  return make(device, std::move(name), bytes, word, kCanaryBytes);
}

Result<Buffer> Buffer::holding(Device& device, std::string name, std::span<const std::byte> bytes) {
  return holding(device, std::move(name), bytes, kCanaryBytes);
}

Result<Buffer> Buffer::holding(Device& device, std::string name, std::span<const std::byte> bytes,
                               std::int64_t after) {
  // What the bytes do not cover needs no word of its own: one call fills it all.
  auto buffer = make(device, std::move(name), std::ssize(bytes), kCanaryWord, after);
  if (buffer && !bytes.empty())
    if (MaybeError bad = device.copy_in(buffer->address(), bytes)) return *bad;
  return buffer;
}

MaybeError Buffer::read(std::span<std::byte> to) const {
  return to.empty() ? MaybeError{} : device_->copy_out(address(), to);
}

MaybeError Buffer::refill(std::uint32_t word) const {
  return bytes_ == 0 ? MaybeError{} : device_->fill(address(), word, bytes_ / kWord);
}

std::vector<std::string> Buffer::damaged(std::span<const Buffer> buffers) {
  if (buffers.empty()) return {};
  Device& device = *buffers.front().device_;
  const auto cannot = [](const Error& why) {
    return std::vector{"the canaries cannot be read: " + why.message};
  };
  const Result<Address> memory = device.allocate(2 * kCanaryBytes * std::ssize(buffers));
  if (!memory) return cannot(memory.error());
  const Owned<Address> gathered(device, *memory);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Address to = *memory + 2 * kCanaryBytes * i;
    const Buffer& b = buffers[i];
    // One that has no canary after it has the one before it twice.
    const Address after =
        b.after_ == 0 ? b.memory_.get() : b.address() + static_cast<Address>(b.bytes_);
    if (MaybeError bad = device.copy_on({}, to, b.memory_.get(), kCanaryBytes)) return cannot(*bad);
    if (MaybeError bad = device.copy_on({}, to + kCanaryBytes, after, kCanaryBytes))
      return cannot(*bad);
  }
  std::vector<std::uint32_t> words(2 * kCanaryBytes / kWord * buffers.size());
  if (MaybeError bad = device.copy_out(*memory, std::as_writable_bytes(std::span(words))))
    return cannot(*bad);
  std::vector<std::string> damaged;
  const auto intact = [&](std::size_t canary) {
    const auto of_one =
        std::span(words).subspan(canary * kCanaryBytes / kWord, kCanaryBytes / kWord);
    return std::ranges::all_of(of_one, [](std::uint32_t word) { return word == kCanaryWord; });
  };
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (const bool before = !intact(2 * i); before || !intact(2 * i + 1))
      damaged.push_back(
          say("the canary ", before ? "before " : "after ", buffers[i].name_, " is damaged"));
  return damaged;
}

}  // namespace mla::hip
