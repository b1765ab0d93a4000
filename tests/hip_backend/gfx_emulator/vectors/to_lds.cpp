// Loads that go from memory straight to LDS (assumption LDS_DMA_ADDRESS).
#include "addresses.hpp"
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned rows = 6;
constexpr u32 start_of_lds = 96;

u32 loaded(const std::string& type, const std::vector<u32>& memory, std::size_t at) {
  if (type == "ubyte") return peek<std::uint8_t>(memory, at);
  if (type == "sbyte") return static_cast<u32>(i32{peek<std::int8_t>(memory, at)});
  if (type == "ushort") return peek<u16>(memory, at);
  if (type == "sshort") return static_cast<u32>(i32{peek<i16>(memory, at)});
  return peek<u32>(memory, at);
}

unsigned dwords_of(const std::string& type) {
  return type == "dwordx3" ? 3 : type == "dwordx4" ? 4 : 1;
}
unsigned bytes_of(const std::string& type) {
  return type.ends_with("byte") ? 1 : type.ends_with("short") ? 2 : 4 * dwords_of(type);
}

std::vector<u32> fill_lds(Vector& v) {
  std::vector<u32> lds;
  for (unsigned r = 0; r < rows; ++r) {
    Row row;
    const WideRow bits = random_row("lds" + std::to_string(r));
    for (unsigned l = 0; l < lanes; ++l) row[l] = static_cast<u32>(bits[l]);
    v.before.lds.push_back(row);
    lds.insert(lds.end(), row.begin(), row.end());
  }
  v.before.s[m0] = start_of_lds;
  return lds;
}

void expect_lds(Vector& v, const std::vector<u32>& lds) {
  for (unsigned r = 0; r < rows; ++r) {
    Expected e{.where = Expected::Where::lds, .index = r, .values = {}};
    for (unsigned l = 0; l < lanes; ++l) e.values[l] = lds[r * lanes + l];
    v.after.push_back(e);
  }
}

// The offset of the instruction counts in LDS as well: what the addresses above use.
u32 instruction_offset(const Words& words, bool buffer) {
  const u32 field = words[0] & (buffer ? 0xfff : 0x1fff);
  return !buffer && field >= 0x1000 ? field - 0x2000 : field;
}

void add_type(Vectors& out, Arch arch, const std::string& type) {
  const unsigned count = dwords_of(type);
  for (const Address& address : all_addresses({.step = 4 * count})) {
    const bool buffer = address.prefix == "buffer_";
    if (address.prefix == "flat_") continue;
    const Op op =
        find_op(arch, buffer ? "buffer_load_" + type : address.prefix + "load_lds_" + type);
    if (op.name.empty() || (buffer && count > 1 && arch == Arch::gfx942)) continue;
    Vector v = memory_vector(op, address);
    v.operation += buffer ? " lds" : "";
    v.words = address.encode(op.number, vgpr, vgpr, false, buffer);
    std::vector<u32> lds = fill_lds(v);
    const u32 to = start_of_lds + instruction_offset(v.words, buffer);
    for (unsigned l = 0; l < lanes; ++l) {
      if (!address.active(l)) continue;
      for (unsigned k = 0; k < count; ++k) {
        const std::size_t at = address.at[l] + 4 * k;
        const bool inside = at + std::min(4U, bytes_of(type)) <= address.limit;
        const std::size_t place = to + 4 * count * l + 4 * k;
        if (place + 4 <= 4 * lds.size()) {
          poke(lds, place, inside ? loaded(type, v.before.memory, at) : 0);
        }
      }
    }
    expect_lds(v, lds);
    out.push_back(std::move(v));
  }
}

void add_scratch(Vectors& out, Arch arch, const std::string& type) {
  const Op op = find_op(arch, "scratch_load_lds_" + type);
  Vector v{.operation = op.name, .note = "scratch"};
  for (unsigned k = 0; k < 8; ++k) {
    const WideRow bits = random_row(op.name + std::to_string(k));
    Row row;
    for (unsigned l = 0; l < lanes; ++l) row[l] = static_cast<u32>(bits[l]);
    v.before.scratch.push_back(row);
  }
  v.before.exec = 0xfffffff0ffffffff;
  v.words = encode::flat(op.number, encode::Segment::scratch, {.offset = 8});
  std::vector<u32> lds = fill_lds(v);
  for (unsigned l = 0; l < lanes; ++l) {
    if ((v.before.exec >> l & 1) == 0) continue;
    poke(lds, start_of_lds + 8 + 4 * l, loaded(type, {v.before.scratch[2][l]}, 0));
  }
  expect_lds(v, lds);
  out.push_back(std::move(v));
}

}  // namespace

Vectors to_lds_vectors(Arch arch) {
  Vectors out;
  for (const char* const type :
       {"ubyte", "sbyte", "ushort", "sshort", "dword", "dwordx3", "dwordx4"}) {
    add_type(out, arch, type);
    if (dwords_of(type) == 1) add_scratch(out, arch, type);
  }
  return out;
}

}  // namespace gfx_test
