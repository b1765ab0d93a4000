// The checks of LDS: races between waves, reads of what is outstanding or was never written.
#include <algorithm>
#include <cstring>

#include "hip_backend/gfx_emulator/check/checker.hpp"
#include "hip_backend/gfx_emulator/exec/scheduler.hpp"

namespace mla::gfx {
namespace {

// Who touched a cell of LDS last, and between which barriers: 23 bits of epoch, 5 bits of wave
// (`several` for readers), and how a writer wrote. A split dword has cells for its bytes instead.
constexpr std::uint32_t several = 31, by_atomic = 1U << 5, by_load = 1U << 6, by_flat = 1U << 7;
constexpr std::uint32_t is_split = 1U << 8;
constexpr unsigned epoch_shift = 9;

std::uint32_t epoch_of(std::uint32_t tag) {
  return tag >> epoch_shift;
}
std::uint32_t wave_of(std::uint32_t tag) {
  return tag & 31;
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

void Checker::lds_access(Wave& w, const Inst& inst, const std::uint32_t* offsets,
                         std::uint64_t mask, std::uint32_t size, Intent intent) {
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    const std::uint32_t end = offsets[l] + size;
    for (std::uint32_t at = offsets[l]; at < end;) {
      const std::uint32_t next = std::min(end, (at & ~3U) + 4);
      visit_dword(w, inst, {at / 4, at, next - at, static_cast<int>(l)}, intent);
      at = next;
    }
  }
}

inline void Checker::visit_dword(Wave& w, const Inst& inst, const Spot& spot, Intent intent) {
  const auto visit = [&](const Spot& part) {
    const bool update = intent == Intent::update;
    const bool after_atomic = update && (lds_[part.cell].write & by_atomic) != 0;
    if (intent != Intent::write && !after_atomic) read_cell(w, inst, part);
    if (intent != Intent::read) write_cell(w, inst, part, update);
  };
  if (spot.size == 4 && (lds_[spot.cell].write & is_split) == 0) return visit(spot);
  if ((lds_[spot.cell].write & is_split) == 0) split(spot.cell);
  for (std::uint32_t k = 0; k < spot.size; ++k) {
    const std::uint32_t begin = spot.begin + k;
    visit({lds_[spot.cell].serial + begin % 4, begin, 1, spot.lane});
  }
}

void Checker::split(std::uint32_t dword) {
  const Cell whole = lds_[dword];
  lds_[dword] = {.write = is_split, .serial = static_cast<std::uint32_t>(lds_.size())};
  lds_.insert(lds_.end(), 4, whole);
}

// The queue of a wave is served in order: what was asked for up to `arrived` has arrived.
bool Checker::outstanding(const Cell& cell) const {
  const WaveInfo& writer = waves_[wave_of(cell.write)];
  if ((cell.write & by_flat) != 0) {
    return cell.serial > std::min(writer.flat_vm.arrived, writer.flat_lgkm.arrived);
  }
  return cell.serial > ((cell.write & by_load) != 0 ? writer.vm : writer.lgkm).arrived;
}

std::optional<Cause> Checker::cause(const Wave& wave, std::uint32_t tag, std::uint32_t at) const {
  if (wave_of(tag) == several) return std::nullopt;
  return cause_at(wave, wave.group->id, wave_of(tag), at);
}

inline void Checker::read_cell(Wave& w, const Inst& inst, const Spot& spot) {
  Cell& cell = lds_[spot.cell];
  const std::uint32_t tag = cell.write, now = epoch_ << epoch_shift;
  const bool old_and_arrived = tag != 0 && tag < now && !outstanding(cell);
  if (!old_and_arrived) blame_read(w, inst, spot);
  const bool other = cell.read >= now && wave_of(cell.read) != w.number;
  cell.read = now | (other ? several : w.number);
  cell.reader_at = inst.at;
}

// The write is of this epoch, outstanding, or has never been.
void Checker::blame_read(Wave& w, const Inst& inst, const Spot& spot) {
  const Cell& cell = lds_[spot.cell];
  const std::uint32_t tag = cell.write;
  const bool mine = wave_of(tag) == w.number;
  const auto report = [&](Problem problem, const std::string& text, const std::string& fix) {
    if (!is_new(w, inst, problem)) return;
    report_finding(w, inst,
                   {.problem = problem,
                    .lane = spot.lane,
                    .address = spot.begin,
                    .text = text,
                    .cause = tag == 0 ? std::nullopt : cause(w, tag, cell.writer_at),
                    .fix = fix});
  };
  const std::string place = lds_place(spot.begin, spot.size);
  if (tag == 0) {
    if (checks_.uninitialised) {
      report(Problem::uninitialised_lds, "nothing was written to " + place, "");
    }
    return;
  }
  const std::string wave = "wave " + std::to_string(wave_of(tag));
  if (checks_.lds_races && !mine && epoch_of(tag) == epoch_ && (tag & by_atomic) == 0) {
    return report(Problem::lds_race, place + " was written by " + wave + " with no barrier between",
                  "s_barrier between the two");
  }
  if (checks_.waits && (!mine || (tag & by_load) != 0) && outstanding(cell)) {
    const bool load = (tag & by_load) != 0, flat = (tag & by_flat) != 0;
    report(Problem::missing_wait, place + " is read while the write of " + wave + " is outstanding",
           std::string("s_waitcnt ") + (load ? "vmcnt(0)" : "lgkmcnt(0)") +
               (flat ? " lgkmcnt(0)" : "") + " in " + wave + (mine ? "" : " before the barrier"));
  }
}

inline void Checker::write_cell(Wave& w, const Inst& inst, const Spot& spot, bool atomic) {
  Cell& cell = lds_[spot.cell];
  const std::uint32_t tag = cell.write, now = epoch_ << epoch_shift, seen = cell.read;
  const bool read = seen >= now && wave_of(seen) != w.number;
  const bool written = tag >= now && wave_of(tag) != w.number;
  const bool both_atomic = atomic && ((tag & by_atomic) != 0 || tag < now);
  if (checks_.lds_races && (read || written) && !both_atomic) {
    suspects_.push_back({spot, bytes_of(*w.group, spot.begin, spot.size), written,
                         written ? tag : seen, written ? cell.writer_at : cell.reader_at});
  }
  const std::uint32_t kind = inst.kind == Class::lds    ? 0
                             : inst.kind == Class::flat ? by_load | by_flat
                                                        : by_load;
  cell.write = now | w.number | (atomic ? by_atomic : 0) | kind;
  cell.serial = serial_;
  cell.writer_at = inst.at;
}

// After the instruction: what has it changed?
void Checker::judge_writes(Wave& w, const Inst& inst) {
  for (const Suspect& suspect : suspects_) {
    const Spot& spot = suspect.spot;
    if (bytes_of(*w.group, spot.begin, spot.size) == suspect.before) continue;
    if (!is_new(w, inst, Problem::lds_race)) continue;
    report_finding(w, inst,
                   {.problem = Problem::lds_race,
                    .lane = spot.lane,
                    .address = spot.begin,
                    .text = lds_place(spot.begin, spot.size) + " was " +
                            (suspect.written ? "written" : "read") +
                            " by another wave with no barrier between",
                    .cause = cause(w, suspect.tag, suspect.at),
                    .fix = "s_barrier between the two"});
  }
  suspects_.clear();
}

}  // namespace mla::gfx
