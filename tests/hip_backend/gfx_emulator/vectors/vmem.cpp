// FLAT, GLOBAL and MUBUF: loads, stores, and atomics.
#include "addresses.hpp"
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

Expected result_row(const Vector& v, unsigned reg) {
  Expected e{.index = reg, .values = {}};
  const Row& old = v.before.v.at(reg);
  std::copy(old.begin(), old.end(), e.values.begin());
  return e;
}

void add_wide(Vectors& out, Arch arch, const Address& address, unsigned words) {
  const std::string suffix = words == 1 ? "dword" : "dwordx" + std::to_string(words);
  const Op load = find_op(arch, address.prefix + "load_" + suffix);
  Vector v = memory_vector(load, address);
  v.words = address.encode(load.number, memory_result, vgpr, false, false);
  for (unsigned k = 0; k < words; ++k) {
    Expected e = result_row(v, memory_result + k);
    for (unsigned l = 0; l < lanes; ++l) {
      const std::size_t at = address.at[l] + 4 * k;
      if (address.active(l))
        e.values[l] = at + 4 <= address.limit ? peek<u32>(v.before.memory, at) : 0;
    }
    v.after.push_back(e);
  }
  out.push_back(std::move(v));
  const Op store = find_op(arch, address.prefix + "store_" + suffix);
  Vector w = memory_vector(store, address);
  w.words = address.encode(store.number, vgpr, memory_data, false, false);
  w.memory_after = w.before.memory;
  for (unsigned l = 0; l < lanes; ++l) {
    for (unsigned k = 0; k < words && address.active(l); ++k) {
      const std::size_t at = address.at[l] + 4 * k;
      if (at + 4 <= address.limit) poke(w.memory_after, at, w.before.v[memory_data + k][l]);
    }
  }
  out.push_back(std::move(w));
}

template <class T>
void add_load(Vectors& out, Arch arch, const Address& address, const std::string& name,
              const std::string& place) {
  const Op op = find_op(arch, address.prefix + "load_" + name + place);
  Vector v = memory_vector(op, address);
  v.words = address.encode(op.number, memory_result, vgpr, false, false);
  Expected e = result_row(v, memory_result);
  for (unsigned l = 0; l < lanes; ++l) {
    const bool inside = address.at[l] + sizeof(T) <= address.limit;
    if (!address.active(l)) continue;
    const i32 value = inside ? peek<T>(v.before.memory, address.at[l]) : T{0};
    const auto bits = static_cast<u32>(value), old = v.before.v[memory_result][l];
    e.values[l] = place.empty()     ? bits
                  : place == "_d16" ? (old & 0xffff0000) | (bits & 0xffff)
                                    : (old & 0xffff) | bits << 16;
  }
  v.after = {e};
  out.push_back(std::move(v));
}

template <class T>
void add_store(Vectors& out, Arch arch, const Address& address, const std::string& name,
               bool high) {
  const Op op = find_op(arch, address.prefix + "store_" + name + (high ? "_d16_hi" : ""));
  Vector w = memory_vector(op, address);
  w.words = address.encode(op.number, vgpr, memory_data, false, false);
  w.memory_after = w.before.memory;
  for (unsigned l = 0; l < lanes; ++l) {
    if (!address.active(l) || address.at[l] + sizeof(T) > address.limit) continue;
    poke(w.memory_after, address.at[l],
         static_cast<T>(w.before.v[memory_data][l] >> (high ? 16 : 0)));
  }
  out.push_back(std::move(w));
}

void add_parts(Vectors& out, Arch arch, const Address& address) {
  for (const char* const place : {"", "_d16", "_d16_hi"}) {
    const bool whole = *place == 0;
    add_load<std::uint8_t>(out, arch, address, "ubyte", place);
    add_load<std::int8_t>(out, arch, address, "sbyte", place);
    add_load<i16>(out, arch, address, whole ? "sshort" : "short", place);
    if (whole) add_load<u16>(out, arch, address, "ushort", place);
  }
  for (const bool high : {false, true}) {
    add_store<std::uint8_t>(out, arch, address, "byte", high);
    add_store<u16>(out, arch, address, "short", high);
  }
}

void set_element(std::vector<u32>& memory, std::size_t at, u64 value, unsigned size) {
  if (size == 4) poke(memory, at, static_cast<u32>(value));
  if (size == 8) poke(memory, at, value);
}

void add_atomic(Vectors& out, Arch arch, const Address& address, const AtomicNames& names,
                bool returns) {
  const Atomic& atomic = names.atomic;
  const Op op = find_op(arch, address.prefix + "atomic_" + names.global);
  if (op.name.empty()) return;
  const unsigned words = atomic.size / 4;
  const Operands row =
      operand_rows(op.name, {atomic.type, atomic.type, atomic.type}, atomic.only).back();
  Vector v = memory_vector(op, address);
  // Some of what memory holds equals what it is compared with.
  for (unsigned l = 0; l < lanes; ++l) {
    set_element(v.before.memory, address.at[l], l % 5 == 0 ? row[2][l] : row[0][l], atomic.size);
  }
  put_row(v.before, memory_data, row[1], atomic.size);
  if (atomic.two) put_row(v.before, memory_data + words, row[2], atomic.size);
  const unsigned dst = !returns ? vgpr : address.prefix == "buffer_" ? memory_data : memory_result;
  v.words = address.encode(op.number, dst, memory_data, returns, false);
  v.memory_after = v.before.memory;
  for (unsigned k = 0; returns && k < words; ++k) v.after.push_back(result_row(v, dst + k));
  for (unsigned l = 0; l < lanes; ++l) {
    const std::size_t at = address.at[l];
    // All or nothing: no atomic is done in part.
    if (!address.active(l) || at + atomic.size > address.limit) continue;
    for (unsigned k = 0; returns && k < words; ++k) {
      v.after[k].values[l] = peek<u32>(v.before.memory, at + 4 * k);
    }
    const u64 was =
        atomic.size == 4 ? peek<u32>(v.before.memory, at) : peek<u64>(v.before.memory, at);
    set_element(v.memory_after, at, atomic.run(was, row[1][l], row[2][l]), atomic.size);
  }
  out.push_back(std::move(v));
}

}  // namespace

Vectors vmem_vectors(Arch arch) {
  Vectors out;
  for (const unsigned words : {1U, 2U, 3U, 4U}) {
    for (const Address& address : all_addresses({.step = words == 3 ? 12U : 4 * words})) {
      add_wide(out, arch, address, words);
    }
  }
  for (const Address& address : all_addresses({.step = 6})) {
    add_parts(out, arch, address);
  }
  // All lanes read the same place.
  const Address one = all_addresses({.one_place = true}).back();
  const Op op = find_op(arch, "buffer_load_dword");
  Vector v = memory_vector(op, one);
  v.words = one.encode(op.number, memory_result, vgpr, false, false);
  v.after = {result_row(v, memory_result)};
  for (unsigned l = 0; l < lanes; ++l) {
    if (one.active(l)) v.after[0].values[l] = peek<u32>(v.before.memory, one.at[l]);
  }
  out.push_back(std::move(v));
  return out;
}

Vectors vmem_atomic_vectors(Arch arch) {
  Vectors out;
  const auto addresses = all_addresses({.step = 16});
  for (const AtomicNames& names : all_atomics()) {
    if (names.global.empty()) continue;
    for (const Address& address : addresses) {
      for (const bool returns : {false, true}) {
        // What an atomic past the end of a buffer returns is left open by the manuals.
        if (returns && address.limit != ~std::size_t{0}) continue;
        add_atomic(out, arch, address, names, returns);
      }
    }
  }
  return out;
}

}  // namespace gfx_test
