// Wait states along paths: small programs in machine words, each with what must be found.
#include "hip_backend/gfx_emulator/check/wait_states.hpp"
#include "hip_backend/gfx_emulator/load.hpp"

#include <vector>

#include "elf_writer.hpp"
#include "tests/catch.hpp"

namespace {

using Program = std::vector<std::uint32_t>;
using Strings = std::vector<std::string>;

const Program product_v0 = {0xd3cd0000, 0x04020d04};  // v[0:3] = v[4:5] * v[6:7] + v[0:3], 4 passes
const Program product_v8 = {0xd3cd0008, 0x04220d04};
const Program product_v2 = {0xd3cd0002, 0x040a0d08};         // its addend overlaps v[0:3]
const Program product_of_v20 = {0xd3cd0000, 0x04520d08};     // v[0:3] = ... + v[20:23]
const Program product_of_f64 = {0xd3ee0000, 0x04021508};     // v[0:7], 8 passes
const Program add_v0 = {0x02180100}, add_v8 = {0x021a1108};  // to v12, to v13
const Program zero_v1 = {0x7e020280}, set_v5 = {0x7e0a0280}, set_v21 = {0x7e2a0280};
const Program read_v1 = {0xd86c0000, 0x01000014};
const Program compare_to_exec = {0x7db4190c}, fma_of_f64 = {0xd1cc000c, 0x043a1d0e};
const Program dot_v14 = {0xd3a3400e, 0x1c3a190c}, dot_of_v14 = {0xd3a3400f, 0x1c3e190e};
const Program add_v14 = {0x021e1d0e}, stop = {0xbf810000};

Program pause(std::uint32_t states) {
  return {0xbf800000 | (states - 1)};
}
Program jump_if(int words) {
  return {0xbf850000 | (static_cast<std::uint32_t>(words) & 0xffff)};
}

// "12<-0 4 of 7": offsets from the kernel's begin, wait states found and needed.
Strings missing(const std::vector<Program>& parts, std::uint32_t machine = 0x54c) {
  Program words;
  for (const Program& part : parts) words.insert(words.end(), part.begin(), part.end());
  words.push_back(stop[0]);
  const auto object =
      mla::gfx::load_code_object(gfx_test::write_elf({.words = words, .machine = machine}), {});
  INFO((object ? "" : object.error().message));
  REQUIRE(object);
  const auto& kernel = object->kernels()[0];
  Strings out;
  for (const auto& m : mla::gfx::check_wait_states(*object, kernel)) {
    out.push_back(std::to_string(m.use - kernel.entry) + "<-" +
                  std::to_string(m.producer - kernel.entry) + " " + std::to_string(m.found) +
                  " of " + std::to_string(m.needed));
  }
  return out;
}

}  // namespace

TEST_CASE(
    "a result of a matrix instruction needs its passes and three before it is read or written") {
  CHECK(missing({product_v0, add_v0}) == Strings{"8<-0 0 of 7"});
  CHECK(missing({product_v0, pause(6), add_v0}) == Strings{"12<-0 6 of 7"});
  CHECK(missing({product_v0, pause(7), add_v0}).empty());
  CHECK(missing({product_v0, pause(6), zero_v1}) == Strings{"12<-0 6 of 7"});
  CHECK(missing({product_v0, pause(6), read_v1}) == Strings{"12<-0 6 of 7"});
  CHECK(missing({product_v0, pause(7), add_v0}, 0x54f) == Strings{"12<-0 7 of 8"});
}

TEST_CASE("an addend that is the same registers needs nothing, one that overlaps them does") {
  CHECK(missing({product_v0, product_v0}).empty());
  CHECK(missing({product_v0, product_v2}) == Strings{"8<-0 3 of 5"});
  CHECK(missing({product_v0, pause(4), product_v2}) == Strings{"12<-0 4 of 5"});
  CHECK(missing({product_v0, pause(5), product_v2}).empty());
}

TEST_CASE("an addend may be overwritten after one wait state less than there are passes") {
  CHECK(missing({product_of_v20, pause(2), set_v21}) == Strings{"12<-0 2 of 3"});
  CHECK(missing({product_of_v20, pause(3), set_v21}).empty());
}

TEST_CASE("a matrix instruction waits until the one before is through") {
  // v0 is read four wait states and the issue of the second product later.
  CHECK(missing({product_v0, product_v8, pause(2), add_v0}) == Strings{"20<-0 6 of 7"});
  CHECK(missing({product_v0, product_v8, pause(3), add_v0}).empty());
  CHECK(missing({product_v0, product_v8, pause(3), add_v0, add_v8}) == Strings{"24<-8 4 of 7"});
}

TEST_CASE("what is written just before a matrix instruction needs wait states as well") {
  CHECK(missing({set_v5, product_v0}) == Strings{"4<-0 0 of 2"});
  CHECK(missing({set_v5, pause(1), product_v0}) == Strings{"8<-0 1 of 2"});
  CHECK(missing({set_v5, pause(2), product_v0}).empty());
  CHECK(missing({compare_to_exec, pause(3), product_v0}) == Strings{"8<-0 3 of 4"});
  CHECK(missing({compare_to_exec, pause(4), product_v0}).empty());
}

TEST_CASE("dot products and products of f64 have numbers of their own") {
  CHECK(missing({dot_v14, pause(2), add_v14}) == Strings{"12<-0 2 of 3"});
  CHECK(missing({dot_v14, pause(3), add_v14}).empty());
  CHECK(missing({dot_v14, dot_v14}).empty());
  CHECK(missing({dot_v14, dot_of_v14}) == Strings{"8<-0 0 of 3"});
  CHECK(missing({product_of_f64, pause(1), fma_of_f64}) == Strings{"12<-0 1 of 2"});
  CHECK(missing({product_of_f64, pause(10), add_v0}) == Strings{"12<-0 10 of 11"});
  CHECK(missing({product_of_f64, pause(10), read_v1}) == Strings{"12<-0 10 of 11"});
}

TEST_CASE("the path with the fewest wait states counts, around a loop too") {
  // Over the pause, or through it.
  CHECK(missing({product_v0, jump_if(1), pause(7), add_v0}) == Strings{"16<-0 1 of 7"});
  // The use of the round before stands at the head of the loop.
  CHECK(missing({add_v0, product_v0, jump_if(-4)}) == Strings{"0<-4 1 of 7"});
  CHECK(missing({add_v0, product_v0, pause(6), jump_if(-5)}).empty());
}
