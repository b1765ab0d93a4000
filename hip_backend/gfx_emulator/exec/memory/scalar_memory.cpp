// SMEM: scalar loads, and the clock.
#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/exec/memory/resolve.hpp"
#include "hip_backend/gfx_emulator/exec/memory/shared-inl.hpp"

namespace mla::gfx {
namespace {

std::int64_t offset_of(const Wave& w, const Inst& i) {
  std::int64_t offset = i.imm;
  if (i.src[1] != code::none) offset += read_scalar(w, i, i.src[1]);
  return offset;
}

template <unsigned dwords>
void load(Wave& w, const Inst& i) {
  const std::uint64_t address =
      (w.pair(i.src[0]) + static_cast<std::uint64_t>(offset_of(w, i))) & ~std::uint64_t{3};
  const std::byte* from = access(w, i, -1, address, std::uint64_t{4} * dwords, Intent::read);
  if (from != nullptr && w.group->global_watch != nullptr) {
    w.group->global_watch->global_access(w, i, &address, 1, 4 * dwords, Intent::read);
  }
  std::uint32_t data[dwords] = {};
  for (unsigned k = 0; from != nullptr && k < dwords; ++k) {
    data[k] = read_at<Shared::by_device, std::uint32_t>(from + std::size_t{4} * k);
  }
  for (unsigned k = 0; k < dwords; ++k) {
    write_scalar(w, static_cast<std::uint16_t>(i.dst + k), data[k]);
  }
  w.group->statistics.bytes_read += sizeof data;
}

// Dwords past num_records read as zero, as the descriptor says.
template <unsigned dwords>
void buffer_load(Wave& w, const Inst& i) {
  const std::uint64_t base = w.pair(i.src[0]) & 0xffffffffffff;
  const std::uint32_t stride = w.s[i.src[0] + 1] >> 16 & 0x3fff, records = w.s[i.src[0] + 2];
  const std::uint64_t size = stride == 0 ? records : std::uint64_t{stride} * records;
  const std::uint64_t offset = static_cast<std::uint64_t>(offset_of(w, i)) & ~std::uint64_t{3};
  for (unsigned k = 0; k < dwords; ++k) {
    std::uint32_t value = 0;
    const std::uint64_t at = offset + std::uint64_t{4} * k;
    if (at + 4 <= size) {
      const std::byte* from = access(w, i, -1, base + at, 4, Intent::read);
      const std::uint64_t address = base + at;
      if (from != nullptr && w.group->global_watch != nullptr) {
        w.group->global_watch->global_access(w, i, &address, 1, 4, Intent::read);
      }
      if (from != nullptr) value = read_at<Shared::by_device, std::uint32_t>(from);
      w.group->statistics.bytes_read += 4;
    }
    write_scalar(w, static_cast<std::uint16_t>(i.dst + k), value);
  }
}

void clock(Wave& w, const Inst& i) {
  write_scalar64(w, i.dst, w.executed);
}
void no_effect(Wave&, const Inst&) {}

constexpr Entry entries[] = {
    {"s_load_dword", load<1>},
    {"s_load_dwordx2", load<2>},
    {"s_load_dwordx4", load<4>},
    {"s_load_dwordx8", load<8>},
    {"s_load_dwordx16", load<16>},
    {"s_buffer_load_dword", buffer_load<1>},
    {"s_buffer_load_dwordx2", buffer_load<2>},
    {"s_buffer_load_dwordx4", buffer_load<4>},
    {"s_buffer_load_dwordx8", buffer_load<8>},
    {"s_buffer_load_dwordx16", buffer_load<16>},
    {"s_memtime", clock},
    {"s_memrealtime", clock},
    {"s_dcache_inv", no_effect},
    {"s_dcache_wb", no_effect},
    {"s_dcache_inv_vol", no_effect},
    {"s_dcache_wb_vol", no_effect},
};

}  // namespace

Entries scalar_memory_entries() {
  return entries;
}

}  // namespace mla::gfx
