#include "hip_backend/gfx_emulator/elf/msgpack.hpp"

#include <utility>

namespace mla::gfx {
namespace {

constexpr int depth_limit = 32;

class MsgpackReader {
 public:
  explicit MsgpackReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool value(Document& out, int depth) {
    if (depth > depth_limit || at_ >= bytes_.size()) return false;
    const auto tag = static_cast<unsigned>(big_endian(1));
    if (tag < 0x80) return out.number = tag, true;
    if (tag < 0x90) return map(out, tag & 15, depth);
    if (tag < 0xa0) return array(out, tag & 15, depth);
    if (tag < 0xc0) return text(out, tag & 31);
    if (tag >= 0xe0) return out.number = static_cast<std::int64_t>(tag) - 256, true;
    return tagged(out, tag, depth);
  }

 private:
  std::uint64_t big_endian(unsigned size) {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < size; ++i) {
      if (at_ >= bytes_.size()) return failed_ = true, 0;
      number = number << 8 | static_cast<std::uint64_t>(bytes_[at_++]);
    }
    return number;
  }

  bool text(Document& out, std::uint64_t size) {
    if (failed_ || size > bytes_.size() - at_) return false;
    out.text.assign(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return true;
  }

  bool array(Document& out, std::uint64_t size, int depth) {
    for (std::uint64_t i = 0; i < size && !failed_; ++i) {
      if (!value(out.items.emplace_back(), depth + 1)) return false;
    }
    return !failed_;
  }

  bool map(Document& out, std::uint64_t size, int depth) {
    for (std::uint64_t i = 0; i < size && !failed_; ++i) {
      Document key;
      if (!value(key, depth + 1)) return false;
      out.keys.push_back(std::move(key.text));
      if (!value(out.items.emplace_back(), depth + 1)) return false;
    }
    return !failed_;
  }

  bool number(Document& out, unsigned size, bool is_signed) {
    const std::uint64_t bits = big_endian(size);
    const unsigned shift = 64 - 8 * size;
    out.number = is_signed ? static_cast<std::int64_t>(bits << shift) >> shift
                           : static_cast<std::int64_t>(bits);
    return !failed_;
  }

  bool skip(std::uint64_t size) {
    if (failed_ || size > bytes_.size() - at_) return false;
    at_ += size;
    return true;
  }

  bool tagged(Document& out, unsigned tag, int depth) {
    switch (tag) {
      case 0xc0:
        return true;
      case 0xc2:
        return out.number = 0, true;
      case 0xc3:
        return out.number = 1, true;
      case 0xc4:
        return skip(big_endian(1));
      case 0xc5:
        return skip(big_endian(2));
      case 0xc6:
        return skip(big_endian(4));
      case 0xca:
        return skip(4);
      case 0xcb:
        return skip(8);
      case 0xcc:
        return number(out, 1, false);
      case 0xcd:
        return number(out, 2, false);
      case 0xce:
        return number(out, 4, false);
      case 0xcf:
        return number(out, 8, false);
      case 0xd0:
        return number(out, 1, true);
      case 0xd1:
        return number(out, 2, true);
      case 0xd2:
        return number(out, 4, true);
      case 0xd3:
        return number(out, 8, true);
      case 0xd9:
        return text(out, big_endian(1));
      case 0xda:
        return text(out, big_endian(2));
      case 0xdb:
        return text(out, big_endian(4));
      case 0xdc:
        return array(out, big_endian(2), depth);
      case 0xdd:
        return array(out, big_endian(4), depth);
      case 0xde:
        return map(out, big_endian(2), depth);
      case 0xdf:
        return map(out, big_endian(4), depth);
      default:
        return false;
    }
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

const Document* Document::find(std::string_view key) const {
  for (std::size_t n = 0; n < keys.size(); ++n) {
    if (keys[n] == key) return &items[n];
  }
  return nullptr;
}

std::int64_t Document::number_of(std::string_view key) const {
  const Document* item = find(key);
  return item != nullptr ? item->number : 0;
}

std::string Document::text_of(std::string_view key) const {
  const Document* item = find(key);
  return item != nullptr ? item->text : std::string();
}

Result<Document> parse_msgpack(std::span<const std::byte> bytes) {
  Document document;
  if (!MsgpackReader(bytes).value(document, 0)) {
    return Error{
        ErrorCode::usage,
        "the metadata note of " + std::to_string(bytes.size()) + " bytes is no valid MessagePack",
        {}};
  }
  return document;
}

}  // namespace mla::gfx
