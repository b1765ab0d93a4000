#include "hip_backend/gfx_emulator/isa/dpp.hpp"

namespace mla::gfx {
namespace {

constexpr unsigned wave_lanes = 64;

int source_of(int ctrl, unsigned lane) {
  const int l = static_cast<int>(lane), row = l & ~15, in_row = l & 15;
  if (ctrl < 0x100) return (l & ~3) | (ctrl >> 2 * (l & 3) & 3);
  const int amount = ctrl & 15;
  switch (ctrl >> 4) {
    case 0x10:
      return in_row + amount < 16 ? l + amount : -1;
    case 0x11:
      return in_row >= amount ? l - amount : -1;
    case 0x12:
      return row | ((in_row - amount) & 15);
    case 0x13:
      if (amount == 0) return l + 1 < 64 ? l + 1 : -1;
      if (amount == 4) return (l + 1) & 63;
      if (amount == 8) return l - 1;
      return (l - 1) & 63;
    case 0x14:
      if (amount == 0) return row | (15 - in_row);
      if (amount == 1) return row | (in_row & 8) | (7 - (in_row & 7));
      if (amount == 2) return row == 0 ? -1 : row - 1;
      return l < 32 ? -1 : 31;
    case 0x15:
      return row | amount;
    default:
      return -1;
  }
}

// Source lanes of all controls of DPP, and which lanes have one.
struct DppTable {
  std::array<std::array<std::int8_t, wave_lanes>, 512> source;
  std::array<std::uint64_t, 512> valid{};
  DppTable() {
    for (unsigned ctrl = 0; ctrl < 512; ++ctrl) {
      for (unsigned l = 0; l < wave_lanes; ++l) {
        const int from = source_of(static_cast<int>(ctrl), l);
        source[ctrl][l] = static_cast<std::int8_t>(from);
        valid[ctrl] |= std::uint64_t{from >= 0} << l;
      }
    }
  }
};
const DppTable& dpp_table() {
  static const DppTable table;
  return table;
}

}  // namespace

const std::array<std::int8_t, wave_lanes>& dpp_sources(std::uint16_t ctrl) {
  return dpp_table().source[ctrl];
}

std::uint64_t dpp_lanes(const Inst& i) {
  std::uint64_t out = i.bound_ctrl ? ~std::uint64_t{0} : dpp_table().valid[i.dpp_ctrl];
  for (unsigned part = 0; part < 16; ++part) {
    const bool in_masks = (i.row_mask >> part / 4 & 1) != 0 && (i.bank_mask >> part % 4 & 1) != 0;
    if (!in_masks) out &= ~(std::uint64_t{15} << 4 * part);
  }
  return out;
}

}  // namespace mla::gfx
