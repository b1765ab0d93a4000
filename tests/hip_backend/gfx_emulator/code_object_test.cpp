// The loader, on code objects made by hand and damaged in every byte.
#include <cstring>

#include "elf_writer.hpp"
#include "hip_backend/gfx_emulator/elf/msgpack.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "tests/catch.hpp"

namespace {

using mla::gfx::load_code_object;

// out[thread] = 42
const std::vector<std::uint32_t> store_42 = {0xc0060000, 0x00000000, 0x24020082, 0x7e0402aa,
                                             0xbf8cc07f, 0xdc708000, 0x00000201, 0xbf810000};

auto load(const gfx_test::HandMade& kernel) {
  return load_code_object(gfx_test::write_elf(kernel), {});
}

}  // namespace

TEST_CASE("a code object made by hand loads and runs") {
  auto object = load({.words = store_42});
  INFO((object.ok() ? "" : object.error().message));
  REQUIRE(object.ok());
  const auto* kernel = object->kernel("hand");
  REQUIRE(kernel != nullptr);
  REQUIRE(kernel->vgprs == 32);
  REQUIRE(kernel->accum_offset == 16);
  REQUIRE(kernel->user_sgprs == 2);
  REQUIRE(kernel->float_mode == 0xf0);
  REQUIRE(object->index_at(kernel->entry) != mla::gfx::CodeObject::npos);
  mla::gfx::Memory memory;
  auto out = memory.allocate(256, "out");
  REQUIRE(out.ok());
  const std::byte* const address = out->data();
  std::byte kernarg[8];
  std::memcpy(kernarg, &address, 8);
  const auto report =
      mla::gfx::run(*object, {.kernel = "hand", .block = {64, 1, 1}, .kernarg = kernarg}, memory);
  REQUIRE(report.ok());
  REQUIRE(report->clean());
  for (std::size_t n = 0; n < 64; ++n) {
    std::uint32_t value = 0;
    std::memcpy(&value, address + 4 * n, 4);
    REQUIRE(value == 42);
  }
}

TEST_CASE("an image larger than the limit, and sections larger than the file, are refused") {
  auto bytes = gfx_test::write_elf({.words = store_42});
  const auto limited = load_code_object(bytes, {.image_limit = 256});
  REQUIRE(!limited.ok());
  REQUIRE(limited.error().message.find("the limit is 256") != std::string::npos);
  // The symbol table, section 1, takes the whole file, and so does what comes after it.
  std::uint64_t sections = 0;
  std::memcpy(&sections, bytes.data() + 40, 8);
  const std::uint64_t all[] = {0, bytes.size()};
  for (const std::size_t section : {1, 2})
    std::memcpy(bytes.data() + sections + 64 * section + 24, all, sizeof all);
  const auto shared = load_code_object(bytes, {});
  REQUIRE(!shared.ok());
  REQUIRE(shared.error().message.find("larger than the file") != std::string::npos);
}

TEST_CASE("an unknown encoding is an error that names its address and bytes") {
  auto words = store_42;
  words[4] = 0xbfff1234;
  const auto object = load({.words = words});
  REQUIRE(!object.ok());
  REQUIRE(object.error().message == "unknown encoding at 0x210: bfff1234 dc708000 in hand");
  // gfx950 knows operations that gfx942 does not.
  words = store_42;
  words[3] = 0x7e04b302;  // v_permlane16_swap_b32 v2, v2
  REQUIRE(load({.words = words, .machine = 0x54f}).ok());
  REQUIRE(!load({.words = words}).ok());
}

TEST_CASE("a wave that leaves the code, or jumps out of it, is stopped") {
  mla::gfx::Memory memory;
  for (const std::uint32_t last : {0xbf800000U, 0xbf827000U}) {  // s_nop 0; s_branch far away
    const auto object = load({.words = {last}});
    REQUIRE(object.ok());
    const auto report = mla::gfx::run(*object, {.kernel = "hand", .block = {64, 1, 1}}, memory);
    REQUIRE(report.ok());
    REQUIRE(report->faults.size() == 1);
    REQUIRE(report->faults[0].problem == mla::gfx::Problem::bad_jump);
  }
}

TEST_CASE("other processors and other files are refused") {
  const auto gfx90a = load({.words = store_42, .machine = 0x53f});
  REQUIRE(!gfx90a.ok());
  REQUIRE(gfx90a.error().message.find("0x3f") != std::string::npos);
  REQUIRE(!load_code_object({}, {}).ok());
  auto bytes = gfx_test::write_elf({.words = store_42});
  bytes[18] = std::byte{62};
  REQUIRE(!load_code_object(bytes, {}).ok());
}

TEST_CASE("a kernel outside of the code that is loaded is refused") {
  constexpr std::size_t segment = 64, flags = 68, file_size = 96;  // of the only program header
  const auto good = gfx_test::write_elf({.words = store_42});
  const auto refused = [&good](std::size_t at, std::uint64_t value, std::size_t size) {
    auto bytes = good;
    std::memcpy(bytes.data() + at, &value, size);
    const auto object = load_code_object(bytes, {});
    INFO((object.ok() ? "loaded" : object.error().message));
    REQUIRE(!object.ok());
    return object.error().message;
  };
  const std::string expected =
      "the entry of kernel hand, 0x200, is outside the code that is loaded";
  REQUIRE(refused(flags, 4, 4).find(expected) == 0);          // readable only
  REQUIRE(refused(file_size, 0x1fc, 8).find(expected) == 0);  // the code is zeros after the file
  REQUIRE(refused(file_size, 0x203, 8).find(expected) == 0);  // less than an instruction of it
  for (const std::uint32_t type : {0U, 4U, 0xffffffffU})
    REQUIRE(refused(segment, type, 4).find("it has no segment to load") != std::string::npos);
  // The descriptor's distance to its entry: into the header of the file, which is no code of
  // `hand`.
  REQUIRE(refused(0x110, 0x101, 8).find("0x201, is misaligned") != std::string::npos);
  REQUIRE(refused(0x110, std::uint64_t{1} << 40, 8).find("outside the code") != std::string::npos);
}

TEST_CASE("a damaged code object never harms the loader") {
  const auto good = gfx_test::write_elf({.words = store_42});
  for (std::size_t size = 0; size < good.size(); ++size) {
    static_cast<void>(load_code_object(std::span(good).first(size), {}));
  }
  for (std::size_t n = 0; n < good.size(); ++n) {
    for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
      auto bad = good;
      bad[n] ^= static_cast<std::byte>(change);
      static_cast<void>(load_code_object(bad, {}));
    }
  }
  SUCCEED("nothing crashed");
}

TEST_CASE("MessagePack notes are read, and truncated ones refused") {
  // {"a": [1, -1, 300, "xy"], "b": {"c": true}}
  const std::vector<unsigned char> note = {0x82, 0xa1, 'a', 0x94, 0x01, 0xff, 0xcd, 0x01, 0x2c,
                                           0xa2, 'x',  'y', 0xa1, 'b',  0x81, 0xa1, 'c',  0xc3};
  const auto bytes = std::as_bytes(std::span(note));
  const auto document = mla::gfx::parse_msgpack(bytes);
  REQUIRE(document.ok());
  const auto* const a = document->find("a");
  REQUIRE(a != nullptr);
  REQUIRE(a->items.size() == 4);
  REQUIRE(a->items[1].number == -1);
  REQUIRE(a->items[2].number == 300);
  REQUIRE(a->items[3].text == "xy");
  REQUIRE(document->find("b")->number_of("c") == 1);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE(!mla::gfx::parse_msgpack(bytes.first(size)).ok());
  }
}

TEST_CASE("a MessagePack note may lie about sizes, nest as it likes and have any key") {
  const auto read = [](const std::vector<unsigned char>& note) {
    return mla::gfx::parse_msgpack(std::as_bytes(std::span(note))).ok();
  };
  // Lists in each other: the deepest that is read, and one that would end the stack.
  std::vector<unsigned char> nested(32, 0x91);
  nested.push_back(0x07);
  REQUIRE(read(nested));
  nested.insert(nested.begin(), 0x91);
  REQUIRE(!read(nested));
  REQUIRE(!read(std::vector<unsigned char>(2'000'000, 0x91)));
  // A list of 2^32-1 items, a text of as many bytes, a map with a number as its key.
  REQUIRE(!read({0xdd, 0xff, 0xff, 0xff, 0xff, 0x01}));
  REQUIRE(!read({0xdb, 0xff, 0xff, 0xff, 0xff, 'x'}));
  REQUIRE(!read({0x81, 0x01, 0x02}));
  // Floats, binary and extensions are skipped over: {"f": 0.0f, "b": two bytes, "e": one, "n": 5}
  const std::vector<unsigned char> other = {0x84, 0xa1, 'f',  0xca, 0,   0,   0,    0,
                                            0xa1, 'b',  0xc4, 2,    9,   9,   0xa1, 'e',
                                            0xd4, 1,    9,    0xa1, 'n', 0x05};
  const auto document = mla::gfx::parse_msgpack(std::as_bytes(std::span(other)));
  REQUIRE(document.ok());
  REQUIRE(document->number_of("n") == 5);
}
