// Running the test kernels: code objects by unit, architecture and optimisation level, buffers, and
// launches that must be clean.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"

namespace gfx_test {

struct Target {
  std::string arch;
  int level;
  [[nodiscard]] std::string text() const { return arch + " -O" + std::to_string(level); }
};
[[nodiscard]] std::vector<Target> all_targets();
[[nodiscard]] std::vector<Target> targets_of(const std::string& arch);

// Kernel arguments, each aligned to its size, as the compiler lays them out.
class Arguments {
 public:
  template <class T>
  Arguments& add(T value) {
    append(&value, sizeof value);
    return *this;
  }
  template <class T>
  Arguments& add(std::span<T> buffer) {
    return add(buffer.data());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void append(const void* value, std::size_t size);
  std::vector<std::byte> bytes_;
};

struct Shape {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> block = {64, 1, 1};
  std::uint32_t dynamic_lds = 0;
  mla::gfx::RunOptions options = {};
};

class Device {
 public:
  explicit Device(const std::string& unit, const Target& target,
                  mla::gfx::HostPath path = mla::gfx::best_host_path());

  template <class T>
  std::span<T> buffer(std::size_t count, const std::string& name) {
    auto bytes = memory_.allocate(count * sizeof(T), name);
    return {reinterpret_cast<T*>(bytes.value().data()), count};
  }
  template <class T>
  std::span<T> upload(const std::vector<T>& values, const std::string& name) {
    const auto to = buffer<T>(values.size(), name);
    std::memcpy(to.data(), values.data(), values.size() * sizeof(T));
    return to;
  }
  // Every wait, race, barrier and memory check is on; the report must be clean.
  void run(const std::string& kernel, const Arguments& arguments, const Shape& shape);
  [[nodiscard]] mla::gfx::LaunchReport report(const std::string& kernel, const Arguments& arguments,
                                              const Shape& shape);
  [[nodiscard]] const mla::gfx::CodeObject& object() const { return object_; }
  [[nodiscard]] mla::gfx::Memory& memory() { return memory_; }

 private:
  mla::gfx::CodeObject object_;
  mla::gfx::Memory memory_;
};

// The same sequence everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d;
  }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

}  // namespace gfx_test
