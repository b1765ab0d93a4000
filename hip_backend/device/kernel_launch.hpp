// KernelLaunch: the buffers and the one launch of a kernel that is run by itself.
//
// Private to the HIP backend. Fails: with the first error of all its calls, when it runs.
#pragma once

#include <bit>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/kernels/code_objects.hpp"

namespace mla::hip {

// Buffers of one launch, or of several that follow each other; after the first error every further
// call does nothing.
class KernelLaunch {
 public:
  explicit KernelLaunch(Device& device) : device_(device), turn_(device.take_turn()) {
    buffers_.reserve(24);
  }

  template <class T>
  void input(const char* name, std::span<const T> values, const T*& to) {
    keep(Buffer::of(device_, name, values), to);
  }
  template <class T>
  std::size_t output(const char* name, std::int64_t elements, std::uint32_t word, T*& to) {
    keep(Buffer::filled(device_, name, elements * static_cast<std::int64_t>(sizeof(T)), word), to);
    return buffers_.size() - 1;
  }
  // What `values` holds goes to the device; copy_back() fetches what is there then.
  template <class T>
  void inout(const char* name, std::span<T> values, T*& to) {
    const std::size_t index = buffers_.size();
    keep(Buffer::of(device_, name, std::span<const T>(values)), to);
    if (!error_) back_.emplace_back(index, std::as_writable_bytes(values));
  }
  [[nodiscard]] MaybeError copy_back() const {
    for (const auto& [index, bytes] : back_)
      if (!bytes.empty())
        if (MaybeError bad = buffers_[index].read(bytes)) return bad;
    return std::nullopt;
  }
  template <class Arguments>
  MaybeError run(const char* unit, const char* kernel, const LaunchSize& size,
                 const Arguments& arguments) {
    return run_code(code_object(device_.properties().arch, unit), kernel, size, arguments);
  }
  // A kernel of any code object.
  template <class Arguments>
  MaybeError run_code(std::span<const std::byte> code, std::string_view kernel,
                      const LaunchSize& size, const Arguments& arguments) {
    if (!error_) error_ = launch_and_wait(code, kernel, size, argument_bytes(arguments));
    if (error_ && error_->code == ErrorCode::fault) {
      buffers_.clear();  // nothing is on the device when it is recovered
      error_ = recovered(device_, std::move(*error_));
    }
    if (error_) return error_;
    if (const auto damaged = Buffer::damaged(buffers_); !damaged.empty())
      return Error{ErrorCode::overrun, damaged.front()};
    return std::nullopt;
  }
  [[nodiscard]] const Buffer& buffer(std::size_t index) const MLA_LIFETIME_BOUND {
    return buffers_[index];
  }

 private:
  MaybeError launch_and_wait(std::span<const std::byte> code, std::string_view kernel,
                             const LaunchSize& size, std::span<const std::byte> arguments) {
    const auto handle = device_.find_kernel(code, kernel);
    if (!handle) return handle.error();
    if (MaybeError bad = device_.launch({}, *handle, size, arguments)) return bad;
    return device_.synchronize({});
  }
  template <class Pointer>
  void keep(Result<Buffer> buffer, Pointer& to) {
    if (error_) return;
    if (!buffer) {
      error_ = buffer.error();
      return;
    }
    to = std::bit_cast<Pointer>(buffer->address());
    buffers_.push_back(std::move(*buffer));
  }
  Device& device_;
  std::unique_lock<std::mutex> turn_;  // before the buffers, which are released first
  std::vector<Buffer> buffers_;
  std::vector<std::pair<std::size_t, std::span<std::byte>>> back_;
  MaybeError error_;
};

}  // namespace mla::hip
