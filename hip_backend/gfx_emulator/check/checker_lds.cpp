// The checks of LDS: races between waves, reads of what is outstanding or was never written.
#include <algorithm>
#include <cstring>

#include "hip_backend/gfx_emulator/check/checker.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"

namespace mla::gfx {
namespace {

std::uint32_t epoch_of(std::uint32_t tag) {
  return tag >> tag::epoch_shift;
}

std::uint32_t kind_of(const Inst& inst) {
  if (inst.kind == Class::lds) return 0;
  return inst.kind == Class::flat ? tag::by_load | tag::by_flat : tag::by_load;
}

std::uint32_t bytes_of(const Group& group, std::uint32_t begin, std::uint32_t size) {
  std::uint32_t value = 0;
  std::memcpy(&value, group.lds.data() + begin, size);
  return value;
}

std::string lds_place(std::uint32_t begin, std::uint32_t size) {
  return "LDS offset " + std::to_string(begin) + (size == 4 ? "" : " (one byte)");
}

}  // namespace

// The waves stand at the barrier: what is outstanding now, others may not rely on.
void Checker::barrier_passed() {
  ++epoch_;
  settled_ = {serial_, ~std::uint32_t{0}, {}};
  for (std::size_t wave = 0; wave < waves_.size(); ++wave) {
    const WaveInfo& info = waves_[wave];
    settled_.of_wave[wave] = info.arrived();
    for (const Queue* const queue : {&info.vm, &info.lgkm, &info.flat_vm, &info.flat_lgkm}) {
      if (queue->writes != 0) settled_.writes = std::min(settled_.writes, queue->settled());
    }
    if (info.lgkm.reads != 0) settled_.reads = std::min(settled_.reads, info.lgkm.settled());
  }
}

LdsCells::Visit Checker::visit_of(const Wave& w, const Inst& inst, Intent intent) const {
  const bool in_order = intent != Intent::read || inst.kind == Class::lds;
  return {epoch_ << tag::epoch_shift, w.number, inst.at, in_order ? serial_ : 0};
}

// Accesses of whole dwords of which there is nothing to say: the lanes for which that is so.
template <std::uint32_t Dwords>
std::uint64_t Checker::settled_lanes(Wave& w, const Inst& inst, const std::uint32_t* offsets,
                                     std::uint64_t mask, Intent intent) {
  const LdsCells::Visit visit = visit_of(w, inst, intent);
  const std::uint32_t kind = kind_of(inst);
  const auto note = [&](std::uint32_t offset, std::uint32_t count) [[gnu::always_inline]] {
    if (intent == Intent::read) return dwords_.read(offset / 4, count, visit, settled_);
    return dwords_.write(offset / 4, count, visit, kind, settled_, is_split);
  };
  std::uint32_t odd = 0, apart = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    odd |= offsets[l] & 3;
    apart |= offsets[l] ^ (offsets[0] + l * 4 * Dwords);
  }
  if (odd != 0) return 0;
  if (mask == ~std::uint64_t{0} && apart == 0 && note(offsets[0], lanes * Dwords)) return mask;
  std::uint64_t done = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1) != 0 && note(offsets[l], Dwords)) done |= std::uint64_t{1} << l;
  }
  return done;
}

void Checker::lds_access(Wave& w, const Inst& inst, const std::uint32_t* offsets,
                         std::uint64_t mask, std::uint32_t size, Intent intent) {
  if (intent != Intent::read) writes_lds_ = true;
  if (intent != Intent::write) reads_lds_ = true;
  if (intent != Intent::update) {
    if (size == 4) mask &= ~settled_lanes<1>(w, inst, offsets, mask, intent);
    if (size == 8) mask &= ~settled_lanes<2>(w, inst, offsets, mask, intent);
    if (size == 16) mask &= ~settled_lanes<4>(w, inst, offsets, mask, intent);
  }
  for (unsigned l = 0; mask != 0 && l < lanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    const std::uint32_t end = offsets[l] + size;
    for (std::uint32_t at = offsets[l]; at < end;) {
      const std::uint32_t next = std::min(end, (at & ~3U) + 4);
      visit_dword(w, inst, at, next - at, static_cast<int>(l), intent);
      at = next;
    }
  }
}

// `size` bytes of one dword.
inline void Checker::visit_dword(Wave& w, const Inst& inst, std::uint32_t begin, std::uint32_t size,
                                 int lane, Intent intent) {
  const auto visit = [&](const Spot& spot) {
    const bool update = intent == Intent::update;
    const bool after_atomic = update && (spot.cells->at(spot.cell).write & tag::by_atomic) != 0;
    if (intent != Intent::write && !after_atomic) read_cell(w, inst, spot);
    if (intent != Intent::read) write_cell(w, inst, spot, update);
  };
  const bool whole = dwords_.serial(begin / 4) != is_split;
  if (size == 4 && whole) return visit({&dwords_, begin / 4, begin, 4, lane});
  const std::uint32_t cell =
      (whole ? split(begin / 4) : dwords_.at(begin / 4).writer_at) + begin % 4;
  const LdsCells::Visit now = visit_of(w, inst, intent);
  if (intent == Intent::read && bytes_.read(cell, size, now, settled_)) return;
  if (intent == Intent::write && bytes_.write(cell, size, now, kind_of(inst), settled_, is_split)) {
    return;
  }
  for (std::uint32_t k = 0; k < size; ++k) visit({&bytes_, cell + k, begin + k, 1, lane});
}

// The index of its first byte.
std::uint32_t Checker::split(std::uint32_t dword) {
  const LdsCell whole = dwords_.at(dword);
  const auto first = static_cast<std::uint32_t>(bytes_.size());
  bytes_.resize(first + std::size_t{4});
  for (std::uint32_t k = 0; k < 4; ++k) bytes_.set(first + k, whole);
  dwords_.set(dword, {.serial = is_split, .writer_at = first});
  return first;
}

// The queue of a wave is served in order: what was asked for up to `arrived` has arrived. What a
// wave did itself it may wait for at any time; other waves rely on the barrier.
bool Checker::outstanding(const Wave& w, const LdsCell& cell) const {
  const std::uint32_t who = tag::wave_of(cell.write);
  const bool by_barrier = who != w.number && epoch_of(cell.write) != epoch_;
  return cell.serial > (by_barrier ? settled_.of_wave[who] : waves_[who].arrived()).of(cell.write);
}

// Of another wave, before the barrier.
bool Checker::read_outstanding(const Wave& w, const LdsCell& cell) const {
  if (cell.read_serial == 0 || tag::wave_of(cell.read) == w.number) return false;
  if (epoch_of(cell.read) == epoch_) return false;
  return cell.read_serial > settled_.of_wave[tag::wave_of(cell.read)].lgkm;
}

std::optional<Cause> Checker::cause(const Wave& wave, std::uint32_t who, std::uint32_t at) const {
  if ((who & tag::several) != 0) return std::nullopt;
  return cause_at(wave, wave.group->id, tag::wave_of(who), at);
}

inline void Checker::read_cell(Wave& w, const Inst& inst, const Spot& spot) {
  LdsCell cell = spot.cells->at(spot.cell);
  const std::uint32_t written = cell.write, now = epoch_ << tag::epoch_shift;
  const bool old_and_arrived = written != 0 && written < now && !outstanding(w, cell);
  if (!old_and_arrived) blame_read(w, inst, spot);
  const bool other = cell.read >= now && tag::is_other(cell.read, w.number);
  cell.read = now | w.number | (other ? tag::several : 0);
  cell.reader_at = inst.at;
  cell.read_serial = visit_of(w, inst, Intent::read).serial;
  spot.cells->set(spot.cell, cell);
}

// The write is of this epoch, outstanding, or has never been.
void Checker::blame_read(Wave& w, const Inst& inst, const Spot& spot) {
  const LdsCell cell = spot.cells->at(spot.cell);
  const std::uint32_t written = cell.write;
  const bool mine = tag::wave_of(written) == w.number;
  const auto report = [&](Problem problem, std::string text, std::string fix) {
    report_finding(w, inst,
                   {.problem = problem,
                    .lane = spot.lane,
                    .address = spot.begin,
                    .text = std::move(text),
                    .cause = written == 0 ? std::nullopt : cause(w, written, cell.writer_at),
                    .fix = std::move(fix)});
  };
  const auto place = [&] { return lds_place(spot.begin, spot.size); };
  const auto writer = [&] { return "wave " + std::to_string(tag::wave_of(written)); };
  if (written == 0) {
    if (!checks_.uninitialised || !is_new(w, inst, Problem::uninitialised_lds)) return;
    return report(Problem::uninitialised_lds, "nothing was written to " + place(), "");
  }
  if (checks_.lds_races && !mine && epoch_of(written) == epoch_ &&
      (written & tag::by_atomic) == 0) {
    if (!is_new(w, inst, Problem::lds_race)) return;
    return report(Problem::lds_race,
                  place() + " was written by " + writer() + " with no barrier between",
                  "s_barrier between the two");
  }
  const bool load = (written & tag::by_load) != 0, flat = (written & tag::by_flat) != 0;
  if (checks_.waits && (!mine || load) && outstanding(w, cell)) {
    if (!is_new(w, inst, Problem::missing_wait)) return;
    report(Problem::missing_wait,
           place() + " is read while the write of " + writer() + " is outstanding",
           std::string("s_waitcnt ") + (load ? "vmcnt(0)" : "lgkmcnt(0)") +
               (flat ? " lgkmcnt(0)" : "") + " in " + writer() +
               (mine ? "" : " before the barrier"));
  }
}

inline void Checker::write_cell(Wave& w, const Inst& inst, const Spot& spot, bool atomic) {
  LdsCell cell = spot.cells->at(spot.cell);
  const std::uint32_t last = cell.write, now = epoch_ << tag::epoch_shift, seen = cell.read;
  const bool other_wrote = last != 0 && tag::wave_of(last) != w.number;
  const bool read = seen >= now && tag::is_other(seen, w.number);
  const bool written = last >= now && other_wrote;
  const bool after_atomic = (last & tag::by_atomic) != 0;
  const bool both_atomic = atomic && (after_atomic || last < now);
  const auto suspect = [&](bool of_write, bool waits) {
    suspects_.push_back({spot, bytes_of(*w.group, spot.begin, spot.size), of_write, waits,
                         of_write ? last : seen, of_write ? cell.writer_at : cell.reader_at});
  };
  if (checks_.lds_races && (read || written) && !both_atomic) {
    suspect(written, false);
  } else if (checks_.waits && other_wrote && last < now && !(atomic && after_atomic) &&
             outstanding(w, cell)) {
    suspect(true, true);
  } else if (checks_.waits && read_outstanding(w, cell)) {
    suspect(false, true);
  }
  cell.write = now | w.number | (atomic ? tag::by_atomic : 0) | kind_of(inst);
  cell.serial = serial_;
  cell.writer_at = inst.at;
  spot.cells->set(spot.cell, cell);
}

// After the instruction: what has it changed?
void Checker::judge_writes(Wave& w, const Inst& inst) {
  for (const Suspect& suspect : suspects_) {
    const Spot& spot = suspect.spot;
    if (bytes_of(*w.group, spot.begin, spot.size) == suspect.before) continue;
    const Problem problem = suspect.waits ? Problem::missing_wait : Problem::lds_race;
    if (!is_new(w, inst, problem)) continue;
    const std::string other = "wave " + std::to_string(tag::wave_of(suspect.tag));
    const bool load = suspect.written && (suspect.tag & tag::by_load) != 0;
    const char* const what = suspect.written ? "write" : "read";
    report_finding(
        w, inst,
        {.problem = problem,
         .lane = spot.lane,
         .address = spot.begin,
         .text = lds_place(spot.begin, spot.size) +
                 (suspect.waits ? std::string(" is overwritten while the ") + what + " of " +
                                      other + " is outstanding"
                                : std::string(" was ") + (suspect.written ? "written" : "read") +
                                      " by another wave with no barrier between"),
         .cause = cause(w, suspect.tag, suspect.at),
         .fix = suspect.waits ? std::string("s_waitcnt ") + (load ? "vmcnt(0)" : "lgkmcnt(0)") +
                                    " in " + other + " before the barrier"
                              : "s_barrier between the two"});
  }
  suspects_.clear();
}

}  // namespace mla::gfx
