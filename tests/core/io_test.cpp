// Claims about .npy files: what is written is read back, and hostile files are refused in words.
#include <cstring>
#include <random>

#include "core/io/npy.hpp"
#include "core/io/sha256.hpp"
#include "tests/catch.hpp"

using namespace mla;
using Bytes = std::vector<std::byte>;

namespace {

Bytes file_of(const std::string& dictionary, const std::string& data) {
  std::string text = "\x93NUMPY";
  text += '\x01';
  text += '\0';
  text += static_cast<char>(dictionary.size() & 0xFFU);
  text += static_cast<char>(dictionary.size() >> 8U);
  text += dictionary + data;
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

}  // namespace

TEST_CASE("npy: what is written is read back", "[io]") {
  const std::vector<std::int32_t> values{0, 1, -1, 2147483647, -2147483647 - 1};
  const auto array = io::read_npy(io::write_npy(io::raw_words(values)));
  REQUIRE(array.ok());
  CHECK(array->kind == io::ElementKind::signed_integer);
  CHECK(array->width == 4);
  CHECK(array->shape == std::vector<std::int64_t>{5});
  CHECK(*io::integers_of(*array) == std::vector<std::int64_t>(values.begin(), values.end()));
  CHECK((*io::read_npy(io::write_npy(io::raw_words({})))).bytes.empty());
  for (const char* shape : {"(0, 3)", "(1, 0)", "(3, 0, 2)"}) {
    INFO(shape);
    CHECK(io::read_npy(file_of(dictionary("<i4", shape), "")).ok());
    CHECK_FALSE(io::read_npy(file_of(dictionary("<i4", shape), "    ")).ok());
  }
  CHECK(io::write_npy(io::raw_words(values)).size() % 4 == 0);
}

TEST_CASE("npy: tensors keep bits and shape, bf16 as unsigned integers", "[io]") {
  const io::RawArray bf16{io::ElementKind::bits, 2, {2, 3, 1}, Bytes(12, std::byte{0x7F})};
  const auto read = io::read_npy(io::write_npy(bf16));
  REQUIRE(read.ok());
  CHECK(read->kind == io::ElementKind::unsigned_integer);
  CHECK(read->shape == bf16.shape);
  CHECK(read->bytes == bf16.bytes);
  const io::RawArray f32{io::ElementKind::floating, 4, {}, Bytes(4)};
  CHECK((*io::read_npy(io::write_npy(f32))).kind == io::ElementKind::floating);
  CHECK((*io::read_npy(io::write_npy(f32))).shape.empty());
}

TEST_CASE("npy: integers of every width keep their sign", "[io]") {
  const std::string ones(8, '\xFF');
  const auto read = [](const std::string& header, const std::string& data) {
    return *io::integers_of(*io::read_npy(file_of(header, data)));
  };
  CHECK(read(dictionary("|i1", "(8,)"), ones).front() == -1);
  CHECK(read(dictionary("|u1", "(8,)"), ones).front() == 255);
  CHECK(read(dictionary("<i2", "(2, 2)"), ones).size() == 4);
  CHECK(read(dictionary("<u4", "(2,)"), ones).front() == 4294967295);
  CHECK(read(dictionary("<i8", "()"), ones).front() == -1);
  CHECK(read(dictionary("<i8", "(0, 7)"), "").empty());
}

TEST_CASE("npy: what is no array of numbers is refused with the reason", "[io]") {
  const std::string data(16, '\0');
  const std::pair<Bytes, const char*> files[] = {
      {Bytes(3), "does not begin"},
      {file_of(dictionary("<c8", "(2,)"), data), "'<c8'"},
      {file_of(dictionary("|f1", "(16,)"), data), "'|f1'"},
      {file_of(dictionary(">i4", "(4,)"), data), "'>i4'"},
      {file_of(dictionary("<i4", "(4,)", "True"), data), "not C's"},
      {file_of(dictionary("<i4", "(5,)"), data), "5 elements of 4 bytes, 16 bytes"},
      {file_of(dictionary("<i4", "(-1,)"), data), "shape"},
      {file_of(dictionary("<i4", "(4294967296, 4294967296)"), data), "more elements"},
      {file_of(dictionary("<i4", "(99999999999999999999,)"), data), "shape"},
      {file_of("{'descr': '<i4'}", data), "order"},
      {file_of("", data), "no element type"},
  };
  for (const auto& [bytes, why] : files) {
    const auto array = io::read_npy(bytes);
    REQUIRE_FALSE(array.ok());
    INFO(array.error().message);
    CHECK(array.error().message.find(why) != std::string::npos);
  }
  const auto large = io::read_npy(file_of(dictionary("<u8", "(2,)"), std::string(16, '\xFF')));
  CHECK(io::integers_of(*large).error().message.find("element 0 is 18446744") != std::string::npos);
  const auto floats = io::read_npy(file_of(dictionary("<f4", "(4,)"), data));
  CHECK(io::integers_of(*floats).error().message.find("32 bits") != std::string::npos);
}

TEST_CASE("npy: damaged files never crash the reader", "[io]") {
  const Bytes sound = io::write_npy(io::raw_words(std::vector<std::int32_t>(40, 7)));
  std::mt19937 random(3);
  std::int64_t refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = sound;
    for (int k = 0; k < 3; ++k) bytes[random() % 80] = static_cast<std::byte>(random());
    bytes.resize(random() % 4 == 0 ? random() % bytes.size() : bytes.size());
    const auto array = io::read_npy(bytes);
    refused += array.ok() ? 0 : 1;
    if (!array) REQUIRE_FALSE(array.error().message.empty());
  }
  CHECK(refused > 5000);
}

TEST_CASE("SHA-256 is that of FIPS 180-4, and of sha256sum around the ends of blocks") {
  const auto sum = [](const std::string& text) {
    return io::sha256(std::as_bytes(std::span(text)));
  };
  CHECK(sum("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sum("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sum(std::string(55, 'b')) ==
        "eb2c86e932179f4ba13fe8715a26124b77d6bad290b9b4c1cc140cf633300c19");
  CHECK(sum(std::string(56, 'b')) ==
        "a5fc6e203a4c2b657d0d153885932414b2ffc6a93f0f8bf8b3183315e5a7212c");
  CHECK(sum(std::string(63, 'b')) ==
        "94e419fabac7f930810f9636354042f8c1426d2f834d4ab65c93dc1e69326b13");
  CHECK(sum(std::string(64, 'b')) ==
        "a0fab1377f49a759b57f63318262ebe89fabfc990e8e93ceac2984561482b9d4");
  CHECK(sum(std::string(65, 'b')) ==
        "74b128f30cf83de43ddf4aafc40c7b50a7443d3c73a89a7cfca17e15e43d51ab");
  CHECK(sum(std::string(119, 'b')) ==
        "68297a9eb141ce16bbc0847da1c0c48e2858704feaa13993bde29f87a198a6e1");
  CHECK(sum(std::string(120, 'b')) ==
        "392add47fbaa8197a874ebe770a947a26dd6f2becce5f64688cc4d18c9da93bd");
  CHECK(sum(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
