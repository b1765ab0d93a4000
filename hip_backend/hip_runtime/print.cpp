#include "hip_backend/hip_runtime/print.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/hip/device/print_buffer.h"
#include "hip_backend/hip_runtime/state.hpp"

namespace mla::hip_runtime {
namespace {

using mla_hip::PrintBuffer;
using mla_hip::PrintPacket;

constexpr std::size_t reserved = std::size_t{1} << 30;

PrintBuffer*& buffer() {
  static PrintBuffer* instance = nullptr;
  return instance;
}

void clear(PrintBuffer& of) {
  // Pages that were written go back; the next launch finds zeros.
  madvise(&of, reserved, MADV_DONTNEED);
  of.used = sizeof(PrintBuffer);
  of.limit = reserved;
}

struct Part {
  std::uint32_t kind = 0;
  std::string_view bytes;
  [[nodiscard]] std::uint64_t number() const {
    std::uint64_t out = 0;
    std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
    return out;
  }
};
using Message = std::vector<Part>;

// One conversion of a format, "%-8.3lf": what stands between % and the letter, without length.
struct Conversion {
  std::string flags;
  std::string length;
  char letter = 0;
};

Conversion conversion_at(std::string_view format, std::size_t& at) {
  Conversion out;
  for (; at < format.size(); ++at) {
    const char c = format[at];
    if (std::string_view("hlLqjzt").find(c) != std::string_view::npos)
      out.length += c;
    else if (std::string_view("-+ #0123456789.*").find(c) != std::string_view::npos)
      out.flags += c;
    else
      break;
  }
  if (at < format.size()) out.letter = format[at++];
  return out;
}

template <class T>
std::string with(const std::string& format, T value) {
  const int size = std::snprintf(nullptr, 0, format.c_str(), value);
  if (size < 0) return {};
  std::string out(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(out.data(), out.size(), format.c_str(), value);
  out.pop_back();
  return out;
}

// An integer as wide as its length modifier says.
std::string integer(const Conversion& c, std::uint64_t bits) {
  const std::string format = "%" + c.flags + "ll" + c.letter;
  const bool is_signed = c.letter == 'd' || c.letter == 'i';
  const int width = c.length == "hh" ? 8 : c.length == "h" ? 16 : c.length.empty() ? 32 : 64;
  const std::uint64_t cut = bits << (64 - width);
  if (is_signed) return with(format, static_cast<long long>(cut) >> (64 - width));
  return with(format, static_cast<unsigned long long>(cut >> (64 - width)));
}

std::string converted(const Conversion& c, const Part& part) {
  const std::string start = "%" + c.flags;
  if (c.letter == 's')
    return part.kind == mla_hip::print_text ? with(start + "s", std::string(part.bytes).c_str())
                                            : say("(no string: ", part.number(), ")");
  if (part.kind == mla_hip::print_text && c.letter != 'p') return std::string(part.bytes);
  if (c.letter == 'p') return with(start + "p", reinterpret_cast<void*>(part.number()));
  if (c.letter == 'c') return with(start + "c", static_cast<int>(part.number()));
  if (std::string_view("diouxX").find(c.letter) != std::string_view::npos)
    return integer(c, part.number());
  if (std::string_view("fFeEgGaA").find(c.letter) != std::string_view::npos) {
    const std::uint64_t bits = part.number();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return with(start + c.letter, value);
  }
  return "%" + c.flags + c.length + c.letter;
}

std::string formatted(const Message& message) {
  const std::string_view format = message.front().bytes;
  std::string out;
  std::size_t next = 1, at = 0;
  while (at < format.size()) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    if (format.substr(at, 2) == "%%") {
      out += '%';
      at += 2;
      continue;
    }
    Conversion c = conversion_at(format, ++at);
    for (std::size_t star = 0; (star = c.flags.find('*')) != std::string::npos;) {
      const auto width = next < message.size() ? static_cast<int>(message[next++].number()) : 0;
      c.flags.replace(star, 1, std::to_string(width));
    }
    if (next < message.size())
      out += converted(c, message[next++]);
    else
      out += "(no argument)";
  }
  return out;
}

std::string assertion(const Message& message) {
  if (message.size() != 4) return "an assertion that does not hold";
  return say(message[0].bytes, ":", message[3].number(), ": ", message[1].bytes, ": Assertion `",
             message[2].bytes, "' failed.");
}

std::vector<Message> messages_of(const PrintBuffer& of) {
  std::vector<Message> out(of.messages);
  const std::uint64_t end = std::min(of.used, of.limit);
  for (std::uint64_t at = sizeof(PrintBuffer); at + sizeof(PrintPacket) <= end;) {
    const char* const place = reinterpret_cast<const char*>(&of) + at;
    PrintPacket packet{};
    std::memcpy(&packet, place, sizeof packet);
    at += sizeof packet + (packet.size + std::uint64_t{7}) / 8 * 8;
    if (at > end || packet.message >= out.size()) break;
    out[packet.message].push_back({packet.kind, {place + sizeof packet, packet.size}});
  }
  return out;
}

}  // namespace

MaybeError prepare_printing(const gfx::CodeObject& object) {
  const std::span<std::byte> pointer = object.variable("__mla_print_buffer");
  if (pointer.size() != sizeof(PrintBuffer*)) return std::nullopt;
  PrintBuffer*& of = buffer();
  if (of == nullptr) {
    void* const pages = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
      return Error{ErrorCode::fault, "printf: the system has no 1 GiB of addresses", {}};
    auto* const bytes = static_cast<std::byte*>(pages);
    if (auto error = runtime().memory.add({bytes, reserved}, "printf", gfx::Rights::read_write))
      return error;
    of = static_cast<PrintBuffer*>(pages);
    clear(*of);
  }
  std::memcpy(pointer.data(), &of, sizeof of);
  return std::nullopt;
}

Printed take_printed() {
  Printed out;
  PrintBuffer* const of = buffer();
  if (of == nullptr || of->messages == 0) return out;
  for (const Message& message : messages_of(*of)) {
    if (message.empty()) continue;
    if (message.front().kind == mla_hip::print_format) out.text += formatted(message);
    if (message.front().kind == mla_hip::print_assertion)
      out.assertions.push_back(assertion(message));
  }
  if (of->dropped != 0)
    out.text += say("printf: ", of->dropped, " parts did not fit in 1 GiB of a launch\n");
  clear(*of);
  return out;
}

}  // namespace mla::hip_runtime
