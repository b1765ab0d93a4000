// Source lines from debug information: tables of both versions by hand, and damaged ones.
#include "hip_backend/gfx_emulator/elf/line_table.hpp"

#include <cstring>

#include "tests/catch.hpp"

using mla::gfx::DebugSections;
using mla::gfx::LineTable;
using mla::gfx::read_line_table;

namespace {

class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  Bytes& list(std::initializer_list<int> values) {
    for (const int value : values) put(static_cast<std::uint8_t>(value));
    return *this;
  }
  Bytes& text(const char* value) {
    for (; *value != 0; ++value) put(*value);
    return put('\0');
  }
  Bytes& add(const Bytes& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(bytes_.size()); }
  [[nodiscard]] std::span<const std::byte> span() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Instructions of 4 bytes, lines -5 to 8 by special opcodes, twelve standard opcodes.
Bytes settings() {
  return Bytes().list({4, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1});
}

// Line 10 at 0x100, line 12 at 0x104, no line at 0x108, line 30 of the second file from 0x10c to
// 0x11c.
Bytes program() {
  Bytes out;
  out.list({0, 9, 2}).put(std::uint64_t{0x100});       // set_address
  out.list({3, 9, 5, 7, 1});                           // advance_line 9, set_column 7, copy
  out.list({13 + 14 + 5 + 2});                         // 4 bytes and 2 lines on
  out.list({3, 0x74, 2, 1, 1});                        // line 0, 4 bytes on, copy
  out.list({4, 2, 3, 30, 9, 4, 0, 1, 2, 4, 0, 1, 1});  // file 2, line 30, fixed_advance_pc 4,
  return out;                                          // copy, 16 bytes on, end_sequence
}

Bytes section(unsigned version, const Bytes& names) {
  Bytes header = settings();
  header.add(names);
  Bytes unit;
  unit.put(static_cast<std::uint16_t>(version));
  if (version == 5) unit.list({8, 0});
  unit.put(header.size()).add(header).add(program());
  Bytes out;
  return out.put(unit.size()).add(unit);
}

Bytes names_4() {
  return Bytes()
      .text("/src")
      .text("")
      .text("k.py")
      .list({1, 0, 0})
      .text("/lib/other.py")
      .list({0, 0, 0, 0});
}

// Two folders in .debug_line_str, three files there; the third has a folder of its own.
Bytes names_5(const Bytes& strings) {
  REQUIRE(strings.size() == 21);
  Bytes out;
  out.list({1, 1, 0x1f, 2}).put(std::uint32_t{0}).put(std::uint32_t{5});
  out.list({2, 1, 0x1f, 2, 0x0b, 3});
  for (const std::uint32_t name : {9U, 9U, 14U}) out.put(name).list({name == 14 ? 1 : 0});
  return out;
}

std::string at(const LineTable& table, std::uint64_t address) {
  const auto found = table.find(address);
  return found ? found->text() : "none";
}

LineTable table_of(std::span<const std::byte> line, std::span<const std::byte> strings) {
  DebugSections sections;
  sections.line = line;
  sections.line_strings = strings;
  return read_line_table(sections);
}

}  // namespace

TEST_CASE("a table of DWARF 4 gives file, line and column of every address in it") {
  const Bytes bytes = section(4, names_4());
  const LineTable table = table_of(bytes.span(), {});
  REQUIRE(at(table, 0xff) == "none");
  REQUIRE(at(table, 0x100) == "/src/k.py:10");
  REQUIRE(table.find(0x100)->column == 7);
  REQUIRE(at(table, 0x104) == "/src/k.py:12");
  REQUIRE(at(table, 0x108) == "/src/k.py:12");  // without a line: the one before
  REQUIRE(at(table, 0x10c) == "/lib/other.py:30");
  REQUIRE(at(table, 0x11b) == "/lib/other.py:30");
  REQUIRE(at(table, 0x11c) == "none");
}

TEST_CASE("a table of DWARF 5 finds its names in the string section") {
  const Bytes strings = Bytes().text("/src").text("lib").text("k.py").text("o.cpp ");
  const Bytes bytes = section(5, names_5(strings));
  const LineTable table = table_of(bytes.span(), strings.span());
  REQUIRE(at(table, 0x100) == "/src/k.py:10");
  REQUIRE(at(table, 0x10c) == "/src/lib/o.cpp :30");
}

TEST_CASE("a table cut short or damaged finds nothing wrong and reads nothing outside") {
  const Bytes strings = Bytes().text("/src").text("lib").text("k.py").text("o.cpp ");
  for (const Bytes& whole : {section(4, names_4()), section(5, names_5(strings))}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::vector<std::byte> cut(whole.span().begin(),
                                       whole.span().begin() + static_cast<std::ptrdiff_t>(size));
      REQUIRE(at(table_of(cut, strings.span()), 0x100) == "none");
    }
    std::uint32_t random = 1;
    for (int n = 0; n < 20000; ++n) {
      std::vector<std::byte> bytes(whole.span().begin(), whole.span().end());
      for (int k = 0; k < 3; ++k) {
        random = random * 1664525 + 1013904223;
        bytes[random / 65536 % bytes.size()] = static_cast<std::byte>(random >> 8);
      }
      const auto found = table_of(bytes, strings.span()).find(0x100);
      REQUIRE((!found || found->line > 0));
    }
  }
}

TEST_CASE("tables of other versions are left out, and the next one is read") {
  const Bytes four = section(4, names_4());
  Bytes three;
  three.put(four.size() - 4).put(std::uint16_t{3});
  std::vector<std::byte> bytes(three.span().begin(), three.span().end());
  bytes.insert(bytes.end(), four.span().begin() + 6, four.span().end());
  REQUIRE(at(table_of(bytes, {}), 0x100) == "none");
  bytes.insert(bytes.end(), four.span().begin(), four.span().end());
  REQUIRE(at(table_of(bytes, {}), 0x100) == "/src/k.py:10");
}
