#include "runner.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <sstream>

#include "../elf_writer.hpp"
#include "compare.hpp"
#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "numbers.hpp"
#include "tests/catch.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;
using mla::gfx::HostPath;

// Registers that no vector uses.
constexpr unsigned input = 96, output = 98, saved_scc = 90, saved_mode = 91, saved_exec = 92;
constexpr unsigned lane_offset = vgpr + 250, temporary = vgpr + 251;
constexpr int mode_register = 1 | 31 << 11;

class Writer {
 public:
  Program program;

  void put(const Words& words) {
    program.words.insert(program.words.end(), words.begin(), words.end());
  }
  void set(unsigned scalar, u32 value) { put(encode::sop1(0, scalar, literal)), put({value}); }
  void wait() { put(encode::sopp(12, 0)); }
  void advance(unsigned pointer) {
    put(encode::sop2(0, pointer, pointer, literal));
    put({4 * lanes});
    put(encode::sop2(4, pointer + 1, pointer + 1, zero));
  }
  void load(unsigned reg) {
    put(encode::flat(0x14, encode::Segment::global,
                     {.dst = reg, .address = lane_offset, .saddr = input}));
    wait();
    advance(input);
  }
  void store(unsigned reg) {
    put(encode::flat(0x1c, encode::Segment::global,
                     {.address = lane_offset, .data = reg, .saddr = output}));
    advance(output);
  }
  void store_scalar(unsigned scalar) {
    put(encode::vop1(1, temporary, scalar));
    store(temporary);
  }
};

void write_state(Writer& w, const State& state, u64 memory) {
  for (const auto& [reg, row] : state.v) w.load(reg);
  for (std::size_t k = 0; k < state.lds.size(); ++k) {
    w.load(temporary);
    w.put(encode::ds(0x0d, {.address = lane_offset,
                            .data0 = temporary,
                            .offset0 = 0,
                            .offset1 = static_cast<unsigned>(k)}));
  }
  for (std::size_t k = 0; k < state.scratch.size(); ++k) {
    w.load(temporary);
    w.put(encode::flat(0x1c, encode::Segment::scratch,
                       {.data = temporary, .offset = static_cast<int>(4 * k)}));
  }
  w.wait();
  auto scalars = state.s;
  for (const unsigned pair : state.scalar_pointers) {
    const u64 value = (scalars[pair] | u64{scalars[pair + 1]} << 32) + memory;
    scalars[pair] = static_cast<u32>(value);
    scalars[pair + 1] = static_cast<u32>(value >> 32);
  }
  for (const auto& [index, value] : scalars) w.set(index, value);
  w.put(encode::sopk(20, 0, mode_register));
  w.put({state.mode});
  w.put(encode::sopc(6, zero, state.scc ? zero : one));
  w.set(exec, static_cast<u32>(state.exec));
  w.set(exec + 1, static_cast<u32>(state.exec >> 32));
}

void write_results(Writer& w, const std::vector<Expected>& after) {
  w.put(encode::sop2(10, saved_scc, one, zero));
  w.put(encode::sop1(1, saved_exec, exec));
  w.put(encode::sopk(17, saved_mode, mode_register));
  w.put(encode::sop1(1, exec, all_ones));
  w.wait();
  for (const Expected& e : after) {
    switch (e.where) {
      case Expected::Where::vector:
        for (unsigned k = 0; k < e.words; ++k) w.store(e.index + k);
        break;
      case Expected::Where::scalar:
        for (unsigned k = 0; k < e.words; ++k) w.store_scalar(e.index + k);
        break;
      case Expected::Where::exec:
        w.store_scalar(saved_exec);
        w.store_scalar(saved_exec + 1);
        break;
      case Expected::Where::scc:
        w.store_scalar(saved_scc);
        break;
      case Expected::Where::mode:
        w.store_scalar(saved_mode);
        break;
      case Expected::Where::lds:
        w.put(encode::ds(0x36, {.dst = temporary, .address = lane_offset, .offset1 = e.index}));
        w.wait();
        w.store(temporary);
        break;
      case Expected::Where::scratch:
        w.put(encode::flat(0x14, encode::Segment::scratch,
                           {.dst = temporary, .offset = static_cast<int>(4 * e.index)}));
        w.wait();
        w.store(temporary);
        break;
    }
  }
}

// Bytes of memory that a vector gets.
std::size_t memory_of(const Vector& vector) {
  return (4 * vector.before.memory.size() + 255) / 256 * 256;
}

// Also of no words at all.
void copy_words(const std::vector<u32>& words, std::byte* to) {
  const auto bytes = std::as_bytes(std::span(words));
  std::copy(bytes.begin(), bytes.end(), to);
}

std::vector<u32> input_of(const Vectors& vectors, u64 memory) {
  std::vector<u32> out;
  for (const Vector& vector : vectors) {
    auto registers = vector.before.v;
    for (const unsigned pair : vector.before.vector_pointers) {
      for (unsigned l = 0; l < lanes; ++l) {
        const u64 value = (registers[pair][l] | u64{registers[pair + 1][l]} << 32) + memory;
        registers[pair][l] = static_cast<u32>(value);
        registers[pair + 1][l] = static_cast<u32>(value >> 32);
      }
    }
    for (const auto& [reg, row] : registers) out.insert(out.end(), row.begin(), row.end());
    for (const Row& row : vector.before.lds) out.insert(out.end(), row.begin(), row.end());
    for (const Row& row : vector.before.scratch) out.insert(out.end(), row.begin(), row.end());
    memory += memory_of(vector);
  }
  return out;
}

unsigned rows_of(const Expected& e) {
  return e.where == Expected::Where::exec ? 2 : e.words;
}

void report(const Vector& vector, const Expected& e, unsigned lane, u64 got) {
  std::ostringstream text;
  text << std::hex << vector.operation << " (" << vector.note << ") words";
  for (const u32 word : vector.words) text << " " << word;
  text << ": result " << std::dec << static_cast<int>(e.where) << ":" << e.index << " lane " << lane
       << std::hex << ": got " << got << ", expected " << e.values[lane] << "; sources";
  for (const auto& [reg, row] : vector.before.v) {
    text << " " << std::dec << reg << "=" << std::hex << row[lane];
  }
  for (const auto& [reg, value] : vector.before.s)
    text << " s" << std::dec << reg << "=" << std::hex << value;
  FAIL_CHECK(text.str());
}

// At most one report for each vector.
void compare(const Vector& vector, const u32*& stored) {
  bool reported = false;
  for (const Expected& e : vector.after) {
    const unsigned rows = rows_of(e);
    for (unsigned l = 0; l < lanes; ++l) {
      const u64 got = stored[l] | (rows == 2 ? u64{stored[lanes + l]} << 32 : 0);
      if (reported || same(got, e.values[l], e.compare)) continue;
      report(vector, e, l, got);
      reported = true;
    }
    stored += std::size_t{rows} * lanes;
  }
}

void compare_memory(const Vector& vector, const std::byte* at) {
  const auto& wanted = vector.memory_after.empty() ? vector.before.memory : vector.memory_after;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    u32 got = 0;
    std::memcpy(&got, at + 4 * k, 4);
    if (got == wanted[k]) continue;
    FAIL_CHECK(vector.operation << " (" << vector.note << "): memory at " << 4 * k << " is "
                                << std::hex << got << ", expected " << wanted[k]);
    return;
  }
}

}  // namespace

Program program_of(const Vectors& vectors, u64 memory) {
  Writer w;
  w.put(encode::smem(1, {.data = input, .base = 0, .offset = 0}));
  w.put(encode::smem(1, {.data = output, .base = 0, .offset = 8}));
  w.put(encode::vop2(0x12, lane_offset, 130, vgpr));  // four times the lane
  w.wait();
  for (const Vector& vector : vectors) {
    write_state(w, vector.before, memory);
    w.program.under_test.push_back(w.program.words.size() + vector.at);
    w.put(vector.words);
    write_results(w, vector.after);
    memory += memory_of(vector);
  }
  w.put(encode::sopp(1, 0));
  return std::move(w.program);
}

void check(const Vectors& vectors, Arch arch, HostPath path) {
  REQUIRE(!vectors.empty());
  mla::gfx::Memory memory;
  std::size_t results = 0;
  for (const Vector& vector : vectors) {
    for (const Expected& e : vector.after) results += std::size_t{4} * lanes * rows_of(e);
  }
  std::size_t bytes = 256;
  for (const Vector& vector : vectors) bytes += memory_of(vector);
  const auto data = memory.allocate(bytes, "memory").value();
  const auto address = reinterpret_cast<u64>(data.data());
  std::byte* at = data.data();
  for (const Vector& vector : vectors) {
    copy_words(vector.before.memory, at);
    at += memory_of(vector);
  }
  const std::vector<u32> from = input_of(vectors, address);
  const auto in = memory.allocate(4 * from.size() + 4, "input").value();
  const auto out = memory.allocate(results + 4, "output").value();
  copy_words(from, in.data());
  const auto object =
      mla::gfx::load_code_object(write_elf({.words = program_of(vectors, address).words,
                                            .machine = arch == Arch::gfx942 ? 0x54cU : 0x54fU,
                                            .lds = 32768,
                                            .scratch = 256,
                                            .kernarg_size = 16}),
                                 {.path = path});
  INFO((object.ok() ? "" : object.error().message));
  REQUIRE(object.ok());
  const std::byte* const arguments[2] = {in.data(), out.data()};
  const auto ran = mla::gfx::run(*object,
                                 {.kernel = "hand",
                                  .block = {lanes, 1, 1},
                                  .kernarg = std::as_bytes(std::span(arguments)),
                                  .options = {.threads = 1}},
                                 memory);
  REQUIRE(ran.ok());
  for (const auto& fault : ran->faults) FAIL_CHECK(fault.line());
  REQUIRE(ran->clean());
  const u32* stored = reinterpret_cast<const u32*>(out.data());
  at = data.data();
  for (const Vector& vector : vectors) {
    compare(vector, stored);
    compare_memory(vector, at);
    at += memory_of(vector);
  }
}

Op find_op(Arch arch, const std::string& name) {
  const auto& operations = mla::gfx::Operations::of(arch);
  const int index = operations.named(name);
  if (index < 0) return {};
  const auto& operation = operations.at(static_cast<unsigned>(index));
  if (mla::gfx::handlers_of(operation, arch, HostPath::portable).run == nullptr) return {};
  unsigned number = 0;
  while (operations.find(operation.encoding, number) != index) ++number;
  return {.name = name, .encoding = operation.encoding, .number = number, .width = operation.width};
}

}  // namespace gfx_test
