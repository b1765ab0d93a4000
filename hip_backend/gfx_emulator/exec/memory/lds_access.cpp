#include "hip_backend/gfx_emulator/exec/memory/lds_access.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"

#include <algorithm>
#include <bit>

#include "hip_backend/gfx_emulator/exec/assumptions.hpp"
#include "hip_backend/gfx_emulator/exec/fidelity.hpp"
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u64 bytes_of(u64 mask, u32 size) {
  return static_cast<u64>(std::popcount(mask)) * size;
}

// Extra passes: lanes go in groups that could fill all banks once; a bank that is asked for
// different dwords by one group needs a pass for each.
u64 bank_conflicts(const u32* offsets, u64 mask, u32 size) {
  constexpr u32 banks = 32;
  const u32 dwords = std::max(1U, size / 4), group = std::bit_floor(banks / dwords);
  u64 extra = 0;
  for (u32 first = 0; first < lanes; first += group) {
    std::array<std::array<u32, lanes>, banks> asked;
    std::array<u32, banks> used{};
    for (u32 l = first; l < first + group; ++l) {
      for (u32 d = 0; (mask >> l & 1) != 0 && d < dwords; ++d) {
        const u32 dword = offsets[l] / 4 + d, bank = dword % banks;
        const auto begin = asked[bank].begin(), end = begin + used[bank];
        if (std::find(begin, end, dword) == end) asked[bank][used[bank]++] = dword;
      }
    }
    const u32 most = *std::max_element(used.begin(), used.end());
    if (most > 1) extra += most - 1;
  }
  return extra;
}

void lds_fault(Wave& w, const Inst& i, unsigned lane, u32 offset, u32 size) {
  report_fault(w, i, Problem::lds_out_of_bounds, static_cast<int>(lane), offset,
               std::to_string(size) + " bytes at LDS offset " + std::to_string(offset) +
                   ", the workgroup has " + std::to_string(w.group->lds_size));
}

}  // namespace

void resolve_lds(Wave& w, const Inst& i, const u32* offsets, u64 mask, u32 size, Intent intent,
                 LanePointers& out) {
  Group& group = *w.group;
  std::byte* const base = group.lds.data();
  out.active = mask;
  out.zeroed = 0;
  u32 largest = 0;
  for (unsigned l = 0; l < lanes; ++l) largest |= offsets[l];  // not below any of them
  if (u64{largest} + size > group.lds_size) {
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mask >> l & 1) == 0 || u64{offsets[l]} + size <= group.lds_size) continue;
      out.zeroed |= u64{1} << l;
      lds_fault(w, i, l, offsets[l], size);
    }
    out.active &= ~out.zeroed;
  }
  for (unsigned l = 0; l < lanes; ++l) out.at[l] = base + offsets[l];
  count_access(group.statistics, intent, bytes_of(mask, size), true);
  const Checks& checks = group.launch->request->options.checks;
  if (checks.bank_conflicts) {
    group.statistics.lds_bank_conflicts += bank_conflicts(offsets, out.active, size);
  }
  if (group.lds_watch != nullptr)
    group.lds_watch->lds_access(w, i, offsets, out.active, size, intent);
}

void resolve_scratch(Wave& w, const Inst& i, const u32* offsets, u64 mask, u32 size, Intent intent,
                     LanePointers& out) {
  out.active = mask;
  out.zeroed = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    out.at[l] = nullptr;
    if ((mask >> l & 1) == 0) continue;
    if (u64{offsets[l]} + size <= w.scratch_size) {
      out.at[l] = w.scratch + u64{w.scratch_size} * l + offsets[l];
      continue;
    }
    out.active &= ~(u64{1} << l);
    out.zeroed |= u64{1} << l;
    report_fault(w, i, Problem::out_of_bounds, static_cast<int>(l), offsets[l],
                 (intent == Intent::read ? "read of " : "write of ") + std::to_string(size) +
                     " bytes at scratch offset " + std::to_string(offsets[l]) + ", a lane has " +
                     std::to_string(w.scratch_size));
  }
  if (w.group->lds_watch != nullptr) {
    w.group->lds_watch->scratch_access(w, offsets, out.active, size);
  }
  w.group->statistics.scratch_bytes += static_cast<u64>(std::popcount(mask)) * size;
}

void resolve_global(Wave& w, const Inst& i, const u64* addresses, u64 mask, u32 size, Intent intent,
                    bool flat, LanePointers& out) {
  out.active = mask;
  out.zeroed = 0;
  if (mask == 0) return;
  u64 low = ~u64{0}, high = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    out.at[l] = reinterpret_cast<std::byte*>(addresses[l]);
    const bool live = (mask >> l & 1) != 0;
    low = live ? std::min(low, addresses[l]) : low;
    high = live ? std::max(high, addresses[l]) : high;
  }
  if (high - low < ~u64{0} - size && allowed(w, low, high - low + size, intent)) {
    return count_access(w.group->statistics, intent, bytes_of(mask, size), false);
  }
  u64 lds = 0, scratch = 0;
  u32 offsets[lanes] = {};
  for (unsigned l = 0; flat && l < lanes; ++l) {
    offsets[l] = static_cast<u32>(addresses[l]);
    if ((mask >> l & 1) == 0) continue;
    lds |= u64{addresses[l] >> 32 == assumed::shared_aperture} << l;
    scratch |= u64{addresses[l] >> 32 == assumed::private_aperture} << l;
  }
  if ((lds | scratch) != 0) meet(w, Met::flat_aperture);
  LanePointers part{};
  for (const u64 mine : {lds, scratch}) {
    if (mine == 0) continue;
    (mine == lds ? resolve_lds : resolve_scratch)(w, i, offsets, mine, size, intent, part);
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mine >> l & 1) != 0) out.at[l] = part.at[l];
    }
    out.zeroed |= part.zeroed;
  }
  const u64 global = mask & ~(lds | scratch);
  for (unsigned l = 0; l < lanes; ++l) {
    if ((global >> l & 1) == 0 || w.group->stopped) continue;
    out.at[l] = access(w, i, static_cast<int>(l), addresses[l], size, intent);
    out.zeroed |= u64{out.at[l] == nullptr} << l;
  }
  if (w.group->stopped) out.zeroed = mask;
  out.active &= ~out.zeroed;
  count_access(w.group->statistics, intent, bytes_of(global, size), false);
}

}  // namespace mla::gfx
