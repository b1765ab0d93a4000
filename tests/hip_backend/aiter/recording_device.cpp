#include "tests/hip_backend/aiter/recording_device.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/units.hpp"

namespace mla::hip::aiter::test {

std::uint64_t Recorded::at(std::size_t offset) const {
  std::uint64_t value = 0;
  const auto rest = std::span(arguments).subspan(std::min(offset, arguments.size()));
  std::memcpy(&value, rest.data(), std::min(sizeof value, rest.size()));
  return value;
}

RecordingDevice::RecordingDevice(std::string arch) {
  properties_.label = "recording";
  properties_.model = "none";
  properties_.arch = std::move(arch);
}

Result<Address> RecordingDevice::allocate(std::int64_t bytes) {
  const Address at = next_;
  next_ += static_cast<Address>(round_up(bytes, 4096) + 4096);
  memory_[at].resize(static_cast<std::size_t>(bytes));
  return at;
}

std::byte* RecordingDevice::find(Address at, std::size_t bytes) {
  auto next = memory_.upper_bound(at);
  if (next == memory_.begin()) return nullptr;
  auto& [begin, block] = *std::prev(next);
  return at - begin + bytes <= block.size() ? block.data() + (at - begin) : nullptr;
}

MaybeError RecordingDevice::copy_in(Address to, std::span<const std::byte> from) {
  std::byte* at = find(to, from.size());
  if (at == nullptr) return Error{ErrorCode::fault, "no memory there"};
  std::copy(from.begin(), from.end(), at);
  return std::nullopt;
}

MaybeError RecordingDevice::copy_out(Address from, std::span<std::byte> to) {
  const std::byte* at = find(from, to.size());
  if (at == nullptr) return Error{ErrorCode::fault, "no memory there"};
  std::copy_n(at, to.size(), to.begin());
  return std::nullopt;
}

MaybeError RecordingDevice::copy_on(StreamHandle, Address to, Address from, std::int64_t bytes) {
  std::vector<std::byte> values(static_cast<std::size_t>(bytes));
  if (MaybeError bad = copy_out(from, values)) return bad;
  return copy_in(to, values);
}

MaybeError RecordingDevice::fill(Address to, std::uint32_t word, std::int64_t words) {
  const std::vector<std::uint32_t> values(static_cast<std::size_t>(words), word);
  return copy_in(to, std::as_bytes(std::span(values)));
}

Result<KernelHandle> RecordingDevice::find_kernel(std::span<const std::byte>,
                                                  std::string_view name) {
  kernels_.emplace_back(name);
  return KernelHandle{kernels_.size()};
}

MaybeError RecordingDevice::launch(StreamHandle, KernelHandle kernel, const LaunchSize& size,
                                   std::span<const std::byte> arguments) {
  launches.push_back({.kernel = kernels_[kernel.value - 1],
                      .size = size,
                      .arguments = {arguments.begin(), arguments.end()},
                      .timing = timing_});
  return std::nullopt;
}

}  // namespace mla::hip::aiter::test
