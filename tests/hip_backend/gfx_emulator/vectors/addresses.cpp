#include "addresses.hpp"

#include "alu.hpp"

namespace gfx_test {
namespace {

constexpr unsigned base = 8, descriptor = 12, offset_register = 16;
constexpr std::size_t memory_bytes = 8192;
constexpr u64 some = 0xfff0ffff7fffff35;

void set_address(State& state, const std::array<u32, lanes>& values) {
  for (unsigned l = 0; l < lanes; ++l) state.v[memory_address][l] = values[l];
}
// 64-bit pointers into memory.
void set_pointers(State& state, const std::array<u32, lanes>& at, int offset) {
  for (unsigned l = 0; l < lanes; ++l) {
    const u64 value = u64{at[l]} - static_cast<u64>(i64{offset});
    state.v[memory_address][l] = static_cast<u32>(value);
    state.v[memory_address + 1][l] = static_cast<u32>(value >> 32);
  }
  state.vector_pointers.push_back(memory_address);
}

std::array<u32, lanes> minus(std::array<u32, lanes> at, u32 by) {
  for (u32& value : at) value -= by;
  return at;
}

Address by_pointer(const char* prefix, encode::Segment segment, int offset,
                   const std::array<u32, lanes>& at, u64 exec) {
  return {.prefix = prefix,
          .note = "pointer",
          .at = at,
          .exec = exec,
          .prepare = [=](State& s) { set_pointers(s, at, offset); },
          .encode =
              [=](unsigned op, unsigned dst, unsigned data, bool returns, bool) {
                return encode::flat(op, segment,
                                    {.dst = dst,
                                     .address = memory_address,
                                     .data = data,
                                     .offset = offset,
                                     .returns = returns});
              }};
}

Address by_scalar(int offset, const std::array<u32, lanes>& at, u64 exec) {
  return {.prefix = "global_",
          .note = "scalar base",
          .at = at,
          .exec = exec,
          .prepare =
              [=](State& s) {
                s.s[base] = 64;
                s.s[base + 1] = 0;
                s.scalar_pointers.push_back(base);
                set_address(s, minus(at, 64 + static_cast<u32>(offset)));
              },
          .encode =
              [=](unsigned op, unsigned dst, unsigned data, bool returns, bool) {
                return encode::flat(op, encode::Segment::global,
                                    {.dst = dst,
                                     .address = memory_address,
                                     .data = data,
                                     .saddr = base,
                                     .offset = offset,
                                     .returns = returns});
              }};
}

// A descriptor of memory from `start` on.
void set_descriptor(State& s, u32 start, u32 stride, u32 records) {
  s.s[descriptor] = start;
  s.s[descriptor + 1] = stride << 16;
  s.s[descriptor + 2] = records;
  s.s[descriptor + 3] = 0x00020000;
  s.scalar_pointers.push_back(descriptor);
  s.s[offset_register] = 16;
}

Address by_buffer(const char* note, const encode::Mubuf& fields, const std::array<u32, lanes>& at,
                  u64 exec, std::function<void(State&)> prepare) {
  return {.prefix = "buffer_",
          .note = note,
          .at = at,
          .exec = exec,
          .prepare = std::move(prepare),
          .encode = [=](unsigned op, unsigned dst, unsigned data, bool returns, bool lds) {
            encode::Mubuf f = fields;
            f.data = lds ? vgpr : dst != vgpr && !returns ? dst : data;
            f.address = memory_address;
            f.descriptor = descriptor;
            f.returns = returns;
            f.lds = lds;
            return encode::mubuf(op, f);
          }};
}

// Offset 16 of the scalar register, 40 of the instruction, 32 of the descriptor.
void add_buffers(std::vector<Address>& out, const std::array<u32, lanes>& at, u64 exec,
                 unsigned step) {
  const encode::Mubuf offsets = {.soffset = offset_register, .offset = 40, .offen = true};
  out.push_back(by_buffer("offset", offsets, at, exec, [=](State& s) {
    set_descriptor(s, 32, 0, memory_bytes - 32);
    set_address(s, minus(at, 88));
  }));
  // The last lanes lie after the end, one of them in part.
  Address beyond = by_buffer("beyond the end", offsets, at, exec, [=](State& s) {
    set_descriptor(s, 32, 0, 256 + 20 * step + 4 - 32);
    set_address(s, minus(at, 88));
  });
  beyond.limit = 256 + 20 * step + 4;
  out.push_back(beyond);
  // A record of 64 bytes for each lane.
  std::array<u32, lanes> records{}, indices{};
  for (unsigned l = 0; l < lanes; ++l) {
    indices[l] = l * 5 % 64;
    records[l] = 256 + 64 * indices[l] + 16;
  }
  out.push_back(by_buffer("index", {.soffset = offset_register, .offset = 0, .idxen = true},
                          records, exec, [=](State& s) {
                            set_descriptor(s, 256, 64, 64);
                            set_address(s, indices);
                          }));
  std::array<u32, lanes> inside = records;
  for (unsigned l = 0; l < lanes; ++l) inside[l] += 8 * (l % 3) + 8;
  out.push_back(by_buffer("index and offset",
                          {.soffset = offset_register, .offset = 8, .offen = true, .idxen = true},
                          inside, exec, [=](State& s) {
                            set_descriptor(s, 256, 64, 64);
                            set_address(s, indices);
                            for (unsigned l = 0; l < lanes; ++l) {
                              s.v[memory_address + 1][l] = 8 * (l % 3);
                            }
                          }));
}

}  // namespace

std::vector<Address> all_addresses(const AddressOptions& options) {
  std::vector<Address> out;
  std::array<u32, lanes> at{};
  for (unsigned l = 0; l < lanes; ++l) at[l] = 256 + options.step * (l * 37 % 64);
  for (const u64 exec : {~u64{0}, some}) {
    out.push_back(by_pointer("global_", encode::Segment::global, -48, at, exec));
    out.push_back(by_pointer("flat_", encode::Segment::flat, 100, at, exec));
    out.push_back(by_scalar(exec == some ? -32 : 4, at, exec));
    add_buffers(out, at, exec, options.step);
  }
  if (!options.one_place) return out;
  std::array<u32, lanes> same{};
  same.fill(32 + 16 + 72);
  out.push_back(by_buffer("one place", {.soffset = offset_register, .offset = 72}, same, some,
                          [](State& s) { set_descriptor(s, 32, 0, 1024); }));
  return out;
}

Vector memory_vector(const Op& op, const Address& address) {
  Vector v{.operation = op.name, .note = address.note};
  for (std::size_t k = 0; k < memory_bytes / 4; k += lanes) {
    for (const u64 bits : random_row(op.name + std::to_string(k))) {
      v.before.memory.push_back(static_cast<u32>(bits));
    }
  }
  v.before.exec = address.exec;
  address.prepare(v.before);
  for (unsigned k = 0; k < 4; ++k) {
    put_row(v.before, memory_data + k, random_row(op.name + "data" + std::to_string(k)), 4);
    put_row(v.before, memory_result + k, random_row(op.name + "old" + std::to_string(k)), 4);
  }
  return v;
}

}  // namespace gfx_test
