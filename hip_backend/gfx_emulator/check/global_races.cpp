#include "hip_backend/gfx_emulator/check/global_races.hpp"

#include <algorithm>
#include <cstring>

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/scheduler.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::uint8_t plain = 0, of_group = 1, of_launch = 2;

std::uint8_t scope_of(const Wave& w, const Inst& inst, Intent intent) {
  if (intent == Intent::update) return of_launch;
  if (inst.kind == Class::smem) return plain;
  u32 word = 0;
  std::memcpy(&word, w.group->launch->object->image() + inst.at, sizeof word);
  const bool buffer = inst.kind == Class::buffer;
  const bool sc0 = (word >> (buffer ? 14 : 16) & 1) != 0;
  const bool sc1 = (word >> (buffer ? 15 : 25) & 1) != 0;
  return sc1 ? of_launch : sc0 ? of_group : plain;
}

u32 bytes_at(u64 address, u32 size) {
  u32 value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value;
}

}  // namespace

void note_global(Wave& w, const Inst& i, const u64* at, u64 mask, u32 size, Intent intent) {
  GlobalRaces& races = *w.group->races;
  u64 inside = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    const bool global = i.kind != Class::flat || allowed(w, at[l], size, Intent::read);
    inside |= u64{global} << l;
  }
  races.access(w, i, at, inside, size, intent);
}

void GlobalRaces::start_group(const Group& group) {
  groups_.push_back(group.id);
  before_.emplace_back();
  ++epoch_;
}

GlobalRaces::Dword& GlobalRaces::dword_at(u64 address) {
  const u64 number = address / page_bytes;
  if (number != last_number_) {
    auto& page = pages_[number];
    if (page == nullptr) page = std::make_unique<Page>();
    last_page_ = page.get();
    last_number_ = number;
  }
  return (*last_page_)[address % page_bytes / 4];
}

void GlobalRaces::access(Wave& w, const Inst& inst, const u64* at, u64 mask, u32 size,
                         Intent intent) {
  const Visit now{.group = static_cast<u32>(groups_.size() - 1),
                  .epoch = epoch_,
                  .at = inst.at,
                  .wave = static_cast<std::uint8_t>(w.number),
                  .scope = scope_of(w, inst, intent)};
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    if (now.scope == of_launch) order(at[l] & ~u64{3}, now);
    const u64 end = at[l] + size;
    for (u64 address = at[l]; address < end;) {
      const u64 next = std::min(end, (address & ~u64{3}) + 4);
      Suspect spot;
      spot.address = address;
      spot.size = static_cast<u32>(next - address);
      spot.lane = inst.kind == Class::smem ? -1 : static_cast<int>(l);
      Dword& dword = dword_at(address);
      if (spot.size == 4 && dword.bytes == nullptr) {
        visit(w, inst, dword.whole, spot, now, intent);
      } else {
        if (dword.bytes == nullptr) {
          dword.bytes = std::make_unique<std::array<Cell, 4>>();
          dword.bytes->fill(dword.whole);
        }
        spot.size = 1;
        for (; spot.address < next; ++spot.address) {
          visit(w, inst, (*dword.bytes)[spot.address % 4], spot, now, intent);
        }
      }
      address = next;
    }
  }
}

// Whoever uses an atomic where another one did comes after it.
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
  const std::uint8_t scope = std::min(other.scope, now.scope);
  if (other.group == now.group) {
    const bool another = other.wave != now.wave || other.more;
    return another && other.epoch == now.epoch && scope == plain;
  }
  return scope != of_launch && !before_[now.group].contains(other.group);
}

inline void GlobalRaces::visit(Wave& w, const Inst& inst, Cell& cell, const Suspect& spot,
                               const Visit& now, Intent intent) {
  const bool written = race(cell.writer, now);
  if (intent == Intent::read) {
    if (written) {
      Suspect found = spot;
      found.other = cell.writer;
      found.written = true;
      report(w, inst, found);
    }
    const bool same = cell.reader.group == now.group && cell.reader.epoch == now.epoch;
    const bool more = same && (cell.reader.more || cell.reader.wave != now.wave);
    cell.reader = now;
    cell.reader.more = more;
    return;
  }
  if (written || race(cell.reader, now)) {
    Suspect found = spot;
    found.other = written ? cell.writer : cell.reader;
    found.written = written;
    found.before = bytes_at(spot.address, spot.size);
    suspects_.push_back(found);
  }
  cell.writer = now;
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
