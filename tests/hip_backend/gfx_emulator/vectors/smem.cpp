// SMEM: scalar loads from pointers and from buffers.
#include "alu.hpp"
#include "families.hpp"
#include "memory_model.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned base = 8, offset_register = 14, destination = 20;

struct Place {
  encode::Smem fields;
  u32 start = 0;  // of the base in memory
  u32 in_scalar = 0;
  u32 at = 0;  // where that leads
};

Vector start(const Op& op, const Place& place, unsigned dwords) {
  Vector v{.operation = op.name, .note = "load"};
  for (unsigned k = 0; k < 4; ++k) {
    for (const u64 bits : random_row(op.name + std::to_string(k))) {
      v.before.memory.push_back(static_cast<u32>(bits));
    }
  }
  v.before.s[base] = place.start;
  v.before.s[base + 1] = 0;
  v.before.scalar_pointers = {base};
  v.before.s[offset_register] = place.in_scalar;
  for (unsigned k = 0; k <= dwords; ++k) v.before.s[destination + k] = 0x01010101 * k;
  encode::Smem fields = place.fields;
  fields.data = destination;
  fields.base = base;
  v.words = encode::smem(op.number, fields);
  return v;
}

void expect_loaded(Vector& v, u32 at, unsigned dwords, u32 limit) {
  for (unsigned k = 0; k < dwords; ++k) {
    const u32 place = at + 4 * k;
    v.after.push_back(
        expect_scalar(destination + k, place + 4 <= limit ? peek<u32>(v.before.memory, place) : 0));
  }
  v.after.push_back(expect_scalar(destination + dwords, 0x01010101 * dwords));
}

}  // namespace

Vectors smem_vectors(Arch arch) {
  Vectors out;
  for (const unsigned dwords : {1U, 2U, 4U, 8U, 16U}) {
    const std::string suffix = dwords == 1 ? "dword" : "dwordx" + std::to_string(dwords);
    const Op load = find_op(arch, "s_load_" + suffix),
             buffer = find_op(arch, "s_buffer_load_" + suffix);
    const std::vector<Place> places = {
        {{.offset = 64}, 16, 0, 80},
        {{.offset = -32}, 256, 0, 224},
        {{.immediate = false, .soffset = offset_register}, 32, 100, 132},
        {{.offset = 20, .soffset = offset_register}, 32, 100, 152},
        {{.offset = 66}, 16, 0, 80},  // the lowest two bits of an address are ignored
    };
    for (const Place& place : places) {
      Vector v = start(load, place, dwords);
      expect_loaded(v, place.at, dwords, ~0U);
      out.push_back(std::move(v));
      if (place.fields.offset < 0) continue;
      // 48 bytes of the buffer lie after the first dword.
      Vector b = start(buffer, place, dwords);
      b.before.s[base + 2] = place.at - place.start + 48;
      b.before.s[base + 3] = 0x00020000;
      expect_loaded(b, place.at, dwords, place.at + 48);
      out.push_back(std::move(b));
      // The same in records of 16 bytes.
      Vector r = start(buffer, place, dwords);
      r.before.s[base + 1] = 16U << 16;
      r.before.s[base + 2] = 5;
      r.before.s[base + 3] = 0x00020000;
      expect_loaded(r, place.at, dwords, place.start + 80);
      out.push_back(std::move(r));
    }
  }
  return out;
}

}  // namespace gfx_test
