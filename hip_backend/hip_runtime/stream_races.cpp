#include "hip_backend/hip_runtime/stream_races.hpp"

#include <algorithm>
#include <utility>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/check/access_scope.hpp"
#include "hip_backend/gfx_emulator/exec/memory/resolve.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace mla::hip_runtime {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u64 address_of(const void* pointer) {
  return reinterpret_cast<u64>(pointer);
}

}  // namespace

StreamRaces* stream_races() {
  static StreamRaces instance;
  return runtime().device.stream_races ? &instance : nullptr;
}

void StreamRaces::begin(const std::string& what) {
  works_.push_back({order().moment(), say(what, " ", order().place())});
  ordered_ = 0;
}

StreamRaces::Cells& StreamRaces::cells_of(u64 page) {
  if (recent_page_ == page) return *recent_;
  Page& of = pages_[page];
  if (of.cells == nullptr) {
    of.cells = std::make_unique<Cells>();
    of.cells->fill(of.all);
  }
  recent_ = of.cells.get();
  recent_page_ = page;
  return *recent_;
}

bool StreamRaces::races(Mark other, Mark mine) {
  const Mark work = other / 2;
  if (work == 0 || work == mine / 2 || work == ordered_ || (other & mine & 1) != 0) return false;
  if (!order().now().covers(works_[work].moment)) return true;
  ordered_ = work;
  return false;
}

StreamRaces::Mark StreamRaces::racing_reader(Mark readers, Mark mine) {
  if ((readers & is_set) == 0) return races(readers, mine) ? readers : 0;
  for (const Mark reader : sets_[readers & ~is_set])
    if (races(reader, mine)) return reader;
  return 0;
}

// Readers that came before this one say no more than it does.
StreamRaces::Mark StreamRaces::with(Mark readers, Mark mine) {
  std::vector<Mark> all = {mine};
  const auto add = [&](Mark reader) {
    if (reader / 2 != mine / 2 && races(reader, mine & ~Mark{1})) all.push_back(reader);
  };
  if ((readers & is_set) == 0)
    add(readers);
  else
    for (const Mark reader : sets_[readers & ~is_set]) add(reader);
  if (all.size() == 1) return mine;
  std::sort(all.begin(), all.end());
  const auto [found, fresh] =
      numbers_of_sets_.try_emplace(all, is_set | static_cast<Mark>(sets_.size()));
  if (fresh) sets_.push_back(std::move(all));
  return found->second;
}

StreamRaces::Race StreamRaces::visit(Cell& cell, Mark mine, gfx::Intent intent) {
  if (intent == gfx::Intent::read) {
    if (cell.reader == mine) return {};
    const Mark writer = cell.writer;
    cell.reader = with(cell.reader, mine);
    return {races(writer, mine) ? writer : 0, true};
  }
  if (cell.writer == mine && cell.reader == 0) return {};
  const Mark writer = std::exchange(cell.writer, mine), readers = std::exchange(cell.reader, 0);
  if (races(writer, mine)) return {writer, true};
  return {racing_reader(readers, mine), false};
}

// A whole page, by a copy or a fill: one cell is enough where all are alike.
StreamRaces::Race StreamRaces::visit_page(u64 page, Mark mine, gfx::Intent intent) {
  Page& of = pages_[page];
  if (of.cells == nullptr) return visit(of.all, mine, intent);
  Race first;
  for (u64 at = 0; at < page_bytes; at += 4) {
    const Race race = visit(page * page_bytes + at, page * page_bytes + at + 4, mine, intent);
    if (first.other == 0) first = race;
  }
  if (intent == gfx::Intent::read) return first;
  of = {{mine, 0}, nullptr};
  recent_page_ = ~u64{0};
  return first;
}

// The first race of these bytes.
StreamRaces::Race StreamRaces::visit(u64 address, u64 end, Mark mine, gfx::Intent intent) {
  Race first;
  while (address < end) {
    const u64 next = std::min(end, (address & ~u64{3}) + 4);
    const u64 page = address / page_bytes;
    if (address % page_bytes == 0 && end - address >= page_bytes) {
      const Race race = visit_page(page, mine, intent);
      if (first.other == 0) first = race;
      address += page_bytes;
      continue;
    }
    Cell& dword = cells_of(page)[address % page_bytes / 4];
    if (next - address == 4 && dword.writer != is_split) {
      const Race race = visit(dword, mine, intent);
      if (first.other == 0) first = race;
      address = next;
      continue;
    }
    if (dword.writer != is_split) {
      bytes_.push_back({dword, dword, dword, dword});
      dword = {is_split, static_cast<Mark>(bytes_.size() - 1)};
    }
    for (; address < next; ++address) {
      Race race = visit(bytes_[dword.reader][address % 4], mine, intent);
      race.size = 1;
      if (first.other == 0) first = race;
    }
  }
  return first;
}

void StreamRaces::order_atomic(u64 dword) {
  Clock& last = atomics_[dword];
  if (!last.covers(order().moment())) order().now().join(last);
  last = order().now();
}

std::string StreamRaces::sentence(const Race& race) const {
  return say("the ", race.size == 4 ? "dword" : "byte", " was ", race.written ? "written" : "read",
             " by ", works_[race.other / 2].what, ", this is ", works_.back().what,
             ", and no event, wait or edge of a graph orders the two");
}

void StreamRaces::global_access(gfx::Wave& wave, const gfx::Inst& inst, const u64* at, u64 active,
                                u32 size, gfx::Intent intent) {
  const bool atomic = gfx::scope_of(inst, intent) == gfx::Scope::of_launch;
  const Mark mine = static_cast<Mark>(2 * (works_.size() - 1) + (atomic ? 1 : 0));
  for (unsigned l = 0; l < gfx::lanes; ++l) {
    if ((active >> l & 1) == 0) continue;
    // Those of a flat access in LDS and scratch.
    if (inst.kind == gfx::Class::flat && !gfx::allowed(wave, at[l], size, gfx::Intent::read))
      continue;
    if (atomic) order_atomic(at[l] & ~u64{3});
    const Race race = visit(at[l], at[l] + size, mine, intent);
    if (race.other == 0) continue;
    const int lane = inst.kind == gfx::Class::smem ? -1 : static_cast<int>(l);
    gfx::report_finding(wave, inst, gfx::Problem::global_race, lane, at[l], sentence(race));
  }
}

std::string StreamRaces::access(const void* base, std::size_t bytes, gfx::Intent intent) {
  const auto mine = static_cast<Mark>(2 * (works_.size() - 1));
  const Race race = visit(address_of(base), address_of(base) + bytes, mine, intent);
  return race.other == 0 ? std::string() : "global-race: " + sentence(race);
}

void StreamRaces::forget(const void* base, std::size_t bytes) {
  const u64 begin = address_of(base), end = begin + bytes;
  recent_page_ = ~u64{0};
  const auto inside = [&](u64 page) {
    return page * page_bytes >= begin && (page + 1) * page_bytes <= end;
  };
  std::erase_if(pages_, [&](const auto& page) { return inside(page.first); });
  for (const u64 page : {begin / page_bytes, end / page_bytes}) {
    if (inside(page) || !pages_.contains(page)) continue;
    Cells& cells = cells_of(page);
    for (u64 at = std::max(begin, page * page_bytes) & ~u64{3};
         at < std::min(end, (page + 1) * page_bytes); at += 4)
      cells[at % page_bytes / 4] = {};
  }
  atomics_.erase(atomics_.lower_bound(begin), atomics_.lower_bound(end));
}

}  // namespace mla::hip_runtime
