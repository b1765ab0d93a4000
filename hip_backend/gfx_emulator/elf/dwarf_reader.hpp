// Owns: reading the numbers and texts of DWARF, little-endian, without ever leaving the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace mla::gfx::dwarf {

// Names may share bytes of a string section: all of them together have a limit.
constexpr std::size_t name_limit = std::size_t{1} << 20;

// Reads from the front; after a read past the end everything is zero and good() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool empty() const { return rest_.empty() || !good_; }
  [[nodiscard]] std::size_t size() const { return rest_.size(); }

  Reader part(std::uint64_t size) {
    if (size > rest_.size()) good_ = false;
    if (!good_) return Reader({});
    const auto out = rest_.first(size);
    rest_ = rest_.subspan(size);
    return Reader(out);
  }
  template <class T>
  T get() {
    const Reader bytes = part(sizeof(T));
    T value{};
    if (bytes.rest_.size() == sizeof value) std::memcpy(&value, bytes.rest_.data(), sizeof value);
    return value;
  }
  std::uint64_t sized(std::uint64_t size) {
    if (size == 1) return get<std::uint8_t>();
    if (size == 2) return get<std::uint16_t>();
    if (size == 4) return get<std::uint32_t>();
    return get<std::uint64_t>();
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; good_; shift += 7) {
      const auto byte = get<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; good_;) {
      const auto byte = get<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      break;
    }
    return static_cast<std::int64_t>(value);
  }
  std::string text() {
    const auto end = std::find(rest_.begin(), rest_.end(), std::byte{0});
    if (end == rest_.end()) good_ = false;
    const auto size = static_cast<std::size_t>(end - rest_.begin());
    if (!good_ || size > name_limit) return {};
    std::string out(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size + 1);
    return out;
  }

 private:
  std::span<const std::byte> rest_;
  bool good_ = true;
};

}  // namespace mla::gfx::dwarf
