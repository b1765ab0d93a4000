#include "hip_backend/gfx_emulator/check/global_races.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u32 bytes_at(u64 address, u32 size) {
  u32 value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value;
}

}  // namespace

void GlobalRaces::start_group(const Group& group) {
  groups_.push_back(group.id);
  before_.emplace_back();
  begins_.push_back(++epoch_);
  group_begin_ = Packed{epoch_} << epoch_shift;
}

GlobalRaces::Packed GlobalRaces::pack(const Visit& visit) {
  const Packed at = std::min<Packed>(visit.at / 4, far_away);
  return Packed{visit.epoch} << epoch_shift | (visit.more ? more_bit : 0) |
         static_cast<Packed>(visit.scope) << scope_shift | Packed{visit.wave} << wave_shift | at;
}

GlobalRaces::Visit GlobalRaces::unpack(Packed packed) const {
  if (packed == 0) return {};
  const auto epoch = static_cast<u32>(packed >> epoch_shift);
  const auto group = std::upper_bound(begins_.begin(), begins_.end(), epoch) - begins_.begin() - 1;
  return {.group = static_cast<u32>(group),
          .epoch = epoch,
          .at = static_cast<u32>(packed & far_away) * 4,
          .wave = static_cast<std::uint8_t>(packed >> wave_shift & 15),
          .scope = static_cast<Scope>(packed >> scope_shift & 3),
          .more = (packed & more_bit) != 0};
}

// Notes the visit of a dword of which there is nothing to say. Otherwise false, and nothing.
inline bool GlobalRaces::note_settled(Cell& cell, Packed now, Packed epoch, Intent intent) const {
  if (!settled(cell.writer, now, epoch)) return false;
  if (intent == Intent::read) {
    const bool another = ((cell.reader ^ now) >> wave_shift & 15) != 0;
    const bool more = cell.reader >= epoch && (another || (cell.reader & more_bit) != 0);
    cell.reader = now | (more ? more_bit : 0);
    return true;
  }
  if (!settled(cell.reader, now, epoch)) return false;
  cell.writer = now;
  return true;
}

void GlobalRaces::global_access(Wave& w, const Inst& inst, const u64* at, u64 mask, u32 size,
                                Intent intent) {
  const Visit now{.group = static_cast<u32>(groups_.size() - 1),
                  .epoch = epoch_,
                  .at = inst.at,
                  .wave = static_cast<std::uint8_t>(w.number),
                  .scope = scope_of(inst, intent)};
  const Packed packed = pack(now), epoch = Packed{now.epoch} << epoch_shift;
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    if (inst.kind == Class::flat && !allowed(w, at[l], size, Intent::read)) continue;
    if (now.scope == Scope::of_launch) order(at[l] & ~u64{3}, now);
    const u64 end = at[l] + size;
    u64 address = at[l];
    constexpr u64 page = PagedCells<Cell>::page_bytes;
    if ((address | size) % 4 == 0 && address / page == (end - 1) / page) {
      Cell* cell = &dwords_.at(address);
      for (; address < end && note_settled(*cell, packed, epoch, intent); ++cell) address += 4;
    }
    if (address >= end) continue;
    Suspect spot;
    spot.address = address;
    spot.lane = inst.kind == Class::smem ? -1 : static_cast<int>(l);
    visit_lane(w, inst, spot, end, now, intent);
  }
}

// The bytes from spot.address to `end`, one cell after the other.
void GlobalRaces::visit_lane(Wave& w, const Inst& inst, Suspect spot, u64 end, const Visit& now,
                             Intent intent) {
  while (spot.address < end) {
    const u64 next = std::min(end, (spot.address & ~u64{3}) + 4);
    spot.size = static_cast<u32>(next - spot.address);
    Cell& dword = dwords_.at(spot.address);
    if (spot.size == 4 && dword.writer != is_split) {
      visit(w, inst, dword, spot, now, intent);
      spot.address = next;
      continue;
    }
    if (dword.writer != is_split) {
      bytes_.push_back({dword, dword, dword, dword});
      dword = {.writer = is_split, .reader = bytes_.size() - 1};
    }
    spot.size = 1;
    for (; spot.address < next; ++spot.address) {
      visit(w, inst, bytes_[dword.reader][spot.address % 4], spot, now, intent);
    }
  }
}

// A wave that uses an atomic where another one did comes after it.
void GlobalRaces::order(u64 address, const Visit& now) {
  const auto [found, fresh] = atomics_.try_emplace(address, now);
  if (fresh) return;
  const Visit other = std::exchange(found->second, now);
  if (other.group != now.group) {
    auto& mine = before_[now.group];
    mine.insert(other.group);
    mine.insert(before_[other.group].begin(), before_[other.group].end());
  } else if (other.wave != now.wave && other.epoch == epoch_) {
    ++epoch_;
  }
}

bool GlobalRaces::race(const Visit& other, const Visit& now) const {
  if (other.group == 0) return false;
  const Scope scope = std::min(other.scope, now.scope);
  if (other.group == now.group) {
    const bool another = other.wave != now.wave || other.more;
    return another && other.epoch == now.epoch && scope == Scope::none;
  }
  return scope != Scope::of_launch && !before_[now.group].contains(other.group);
}

void GlobalRaces::visit(Wave& w, const Inst& inst, Cell& cell, const Suspect& spot,
                        const Visit& now, Intent intent) {
  const Visit writer = unpack(cell.writer), reader = unpack(cell.reader);
  const bool written = race(writer, now);
  if (intent == Intent::read) {
    if (written) {
      Suspect found = spot;
      found.other = writer;
      found.written = true;
      report(w, inst, found);
    }
    Visit mine = now;
    const bool same = reader.group == now.group && reader.epoch == now.epoch;
    mine.more = same && (reader.more || reader.wave != now.wave);
    cell.reader = pack(mine);
    return;
  }
  if (written || race(reader, now)) {
    Suspect found = spot;
    found.other = written ? writer : reader;
    found.written = written;
    found.before = bytes_at(spot.address, spot.size);
    suspects_.push_back(found);
  }
  cell.writer = pack(now);
}

void GlobalRaces::after(Wave& w, const Inst& inst) {
  for (const Suspect& suspect : suspects_) {
    if (bytes_at(suspect.address, suspect.size) != suspect.before) report(w, inst, suspect);
  }
  suspects_.clear();
}

void GlobalRaces::report(Wave& w, const Inst& inst, const Suspect& suspect) const {
  const Visit& other = suspect.other;
  const bool same_group = other.group == groups_.size() - 1;
  report_finding(w, inst,
                 {.problem = Problem::global_race,
                  .lane = suspect.lane,
                  .address = suspect.address,
                  .text = std::string(suspect.size == 4 ? "the dword" : "the byte") + " was " +
                          (suspect.written ? "written" : "read") + " by another " +
                          (same_group ? "wave with no barrier between"
                                      : "workgroup of the launch, and no atomic orders the two"),
                  .cause = cause_at(w, groups_[other.group], other.wave, other.at),
                  .fix = same_group ? "s_barrier between the two" : ""});
}

}  // namespace mla::gfx
