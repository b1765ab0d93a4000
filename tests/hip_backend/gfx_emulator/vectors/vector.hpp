// Owns: what a vector is: one instruction, the state before it, and the state after it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "encode.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"

namespace gfx_test {

constexpr unsigned lanes = 64;
using Row = std::array<std::uint32_t, lanes>;
using WideRow = std::array<std::uint64_t, lanes>;

// How a result is compared. NaNs of any payload are alike, but for `bits`.
enum class Compare : std::uint8_t {
  bits,
  f16,
  f32,
  f64,
  two_f16,  // the halves of a register
  two_bf16,
  two_f32,    // a pair of registers
  f32_close,  // relative 2^-22 and absolute 2^-22
  f32_ulp,    // one unit in the last place
  f16_ulp,
  f16_close,  // absolute 2^-10
  f64_ulp,
};

struct State {
  std::map<unsigned, Row> v;  // by operand code: 256.. vector, 512.. accumulation registers
  std::map<unsigned, std::uint32_t> s;  // by operand code: also VCC and M0
  std::uint64_t exec = ~std::uint64_t{0};
  bool scc = false;
  std::uint32_t mode = 0x1f0;  // nearest even, denormals kept, DX10 clamp
  std::vector<Row> lds;        // 256 bytes each
  std::vector<Row> scratch;    // one dword of each lane
  std::vector<std::uint32_t> memory;
  // Registers whose 64-bit values count from the start of `memory`: the runner adds its address.
  std::vector<unsigned> vector_pointers, scalar_pointers;
};

struct Expected {
  enum class Where : std::uint8_t { vector, scalar, exec, scc, mode, lds, scratch };
  Where where = Where::vector;
  unsigned index = 0;  // operand code, or row
  unsigned words = 1;  // registers: 1, or 2 for a value of 64 bits
  WideRow values = {};
  Compare compare = Compare::bits;
};

struct Vector {
  std::string operation;
  std::string note;  // which of its vectors
  Words words = {};
  unsigned at = 0;  // of the instruction under test in `words`
  State before = {};
  std::vector<Expected> after = {};
  std::vector<std::uint32_t> memory_after = {};  // empty: unchanged
};
using Vectors = std::vector<Vector>;

[[nodiscard]] inline Expected expect_scalar(unsigned index, std::uint32_t value) {
  Expected out{.where = Expected::Where::scalar, .index = index, .values = {}};
  out.values.fill(value);
  return out;
}
[[nodiscard]] inline Expected expect_flag(Expected::Where where, std::uint64_t value) {
  Expected out{.where = where, .values = {}};
  out.values.fill(value);
  return out;
}

// An operation as the tables of the emulator have it; the disassembler agrees with them elsewhere.
struct Op {
  std::string name;
  mla::gfx::Encoding encoding = mla::gfx::Encoding::sopp;
  unsigned number = 0;
  std::array<std::uint8_t, 4> width = {};
};
// Empty name where the architecture does not have the operation, or does not execute it.
[[nodiscard]] Op find_op(mla::gfx::Arch arch, const std::string& name);

}  // namespace gfx_test
