// Claims about .npy files: what is written is read back, and hostile files are refused in words.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "core/io/npy.hpp"

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
  const auto array = io::read_npy(io::write_npy(values));
  REQUIRE(array.ok());
  CHECK(array->descr == "<i4");
  CHECK(array->shape == std::vector<std::int64_t>{5});
  CHECK(array->values == std::vector<std::int64_t>(values.begin(), values.end()));
  CHECK(io::read_npy(io::write_npy({}))->values.empty());
  CHECK(io::write_npy(values).size() % 4 == 0);
}

TEST_CASE("npy: integers of every width keep their sign", "[io]") {
  const std::string ones(8, '\xFF');
  CHECK(io::read_npy(file_of(dictionary("|i1", "(8,)"), ones))->values.front() == -1);
  CHECK(io::read_npy(file_of(dictionary("|u1", "(8,)"), ones))->values.front() == 255);
  CHECK(io::read_npy(file_of(dictionary("<i2", "(2, 2)"), ones))->values.size() == 4);
  CHECK(io::read_npy(file_of(dictionary("<u4", "(2,)"), ones))->values.front() == 4294967295);
  CHECK(io::read_npy(file_of(dictionary("<i8", "()"), ones))->values.front() == -1);
  CHECK(io::read_npy(file_of(dictionary("<i8", "(0, 7)"), ""))->values.empty());
}

TEST_CASE("npy: what is no array of integers is refused with the reason", "[io]") {
  const std::string data(16, '\0');
  const std::pair<Bytes, const char*> files[] = {
      {Bytes(3), "does not begin"},
      {file_of(dictionary("<f4", "(4,)"), data), "'<f4'"},
      {file_of(dictionary(">i4", "(4,)"), data), "'>i4'"},
      {file_of(dictionary("<i4", "(4,)", "True"), data), "not C's"},
      {file_of(dictionary("<i4", "(5,)"), data), "5 elements of 4 bytes, 16 bytes"},
      {file_of(dictionary("<i4", "(-1,)"), data), "shape"},
      {file_of(dictionary("<i4", "(4294967296, 4294967296)"), data), "more elements"},
      {file_of(dictionary("<i4", "(99999999999999999999,)"), data), "shape"},
      {file_of("{'descr': '<i4'}", data), "order"},
      {file_of("", data), "no element type"},
      {file_of(dictionary("<u8", "(2,)"), std::string(16, '\xFF')), "element 0 is 18446744"},
  };
  for (const auto& [bytes, why] : files) {
    const auto array = io::read_npy(bytes);
    REQUIRE_FALSE(array.ok());
    INFO(array.error().message);
    CHECK(array.error().message.find(why) != std::string::npos);
  }
}

TEST_CASE("npy: damaged files never crash the reader", "[io]") {
  const Bytes sound = io::write_npy(std::vector<std::int32_t>(40, 7));
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
