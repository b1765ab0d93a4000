#include "hip_backend/gfx_emulator/check/checker.hpp"

#include <algorithm>

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/scheduler.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"

namespace mla::gfx {
namespace {

bool is_vector_memory(Class kind) {
  return kind == Class::buffer || kind == Class::global || kind == Class::flat ||
         kind == Class::scratch;
}

// Widths of the sources; scalar bases are wider than the lanes' operands.
unsigned source_width(const Inst& inst, unsigned k) {
  const bool base = k == 2 && is_vector_memory(inst.kind);
  if (base) return inst.kind == Class::buffer ? 4 : inst.kind == Class::scratch ? 1 : 2;
  if (k == 3) return 1;
  if (k == 2 && inst.src[2] < 128 && inst.width[3] == 0) return 2;  // a carry or a selection
  return inst.width[k + 1];
}

}  // namespace

Checker::Checker(Group& group, const Checks& checks)
    : checks_(checks), waves_(group.waves.size()), lds_(group.lds_size / 4 + 1) {}

void Checker::start_wave(const Wave& wave) {
  WaveInfo& info = waves_[wave.number];
  info.written.set(0);
  const Kernel& kernel = *wave.group->launch->kernel;
  const unsigned ids = static_cast<unsigned>(
      std::count(kernel.workgroup_id.begin(), kernel.workgroup_id.end(), true));
  for (unsigned k = 0; k < kernel.user_sgprs + ids; ++k) info.scalar_written.set(k);
  for (unsigned k = 102; k < scalars; ++k) info.scalar_written.set(k);
}

void Checker::before(Wave& w, const Inst& inst) {
  WaveInfo& info = waves_[w.number];
  touched_.clear();
  ++serial_;  // one for the instruction: ds_write2 comes to lds_access() twice
  if (inst.kind == Class::wait) return wait(inst, info);
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    if (inst.src[k] != code::none)
      check_operand(w, inst, inst.src[k], source_width(inst, k), false);
  }
  if (inst.dst != code::none) check_operand(w, inst, inst.dst, inst.width[0], true);
}

void Checker::after(Wave& w, const Inst& inst) {
  WaveInfo& info = waves_[w.number];
  const bool memory = is_vector_memory(inst.kind), lds = inst.kind == Class::lds;
  const bool scalar = inst.kind == Class::smem;
  if (memory || lds || scalar) {
    Operation operation;
    operation.serial = serial_;
    if (inst.dst != code::none) {
      operation.first = scalar ? inst.dst : static_cast<std::uint16_t>(inst.dst - code::vgpr);
      operation.count = inst.width[0];
    }
    const unsigned queues = inst.kind == Class::flat ? 2 : 1;
    for (unsigned k = operation.first; k < operation.first + operation.count; ++k) {
      if (scalar && k < scalars) ++info.scalar_pending[k];
      if (!scalar && k < vectors) {
        info.pending[k] = static_cast<std::uint16_t>(info.pending[k] + queues);
      }
    }
    operation.dwords = touched_;
    if (scalar) {
      info.smem.push_back(std::move(operation));
    } else {
      if (lds || queues == 2) info.lgkm.push_back(operation);
      if (memory) info.vm.push_back(std::move(operation));
    }
  }
  if (inst.dst != code::none) mark_written(info, inst.dst, inst.width[0]);
  if (inst.sdst != code::none && inst.kind != Class::mfma) mark_written(info, inst.sdst, 2);
}

void Checker::mark_written(WaveInfo& info, std::uint16_t operand, unsigned width) {
  const bool vector = operand >= code::vgpr;
  const unsigned first = vector ? operand - 256U : operand;
  for (unsigned k = first; k < first + width; ++k) {
    if (vector && k < vectors) info.written.set(k);
    if (!vector && k < scalars) info.scalar_written.set(k);
  }
}

void Checker::wait(const Inst& inst, WaveInfo& info) {
  const auto bits = static_cast<unsigned>(inst.imm);
  const unsigned vm = (bits & 15) | (bits >> 10 & 0x30), lgkm = bits >> 8 & 15;
  if (vm != 63) retire(info.vm, vm, info, false);
  if (lgkm == 15) return;
  retire(info.lgkm, lgkm, info, false);
  if (lgkm == 0) retire(info.smem, 0, info, true);
}

void Checker::retire(Queue& queue, std::size_t left, WaveInfo& info, bool scalar) {
  if (queue.size() <= left) return;
  const auto end = queue.end() - static_cast<std::ptrdiff_t>(left);
  for (auto operation = queue.begin(); operation != end; ++operation) {
    for (unsigned k = operation->first; k < operation->first + operation->count; ++k) {
      if (scalar && k < scalars) --info.scalar_pending[k];
      if (!scalar && k < vectors) --info.pending[k];
    }
    for (const std::uint32_t dword : operation->dwords) {
      if (lds_[dword].serial == operation->serial) lds_[dword].serial = 0;
    }
  }
  queue.erase(queue.begin(), end);
}

void Checker::check_operand(Wave& w, const Inst& inst, std::uint16_t operand, unsigned width,
                            bool write) {
  WaveInfo& info = waves_[w.number];
  const bool vector = operand >= code::vgpr;
  if (!vector && operand >= scalars) return;
  const unsigned first = vector ? operand - 256U : operand;
  // Loads of one kind come back in order: a later one may take over the register.
  const bool load =
      is_vector_memory(inst.kind) || inst.kind == Class::lds || inst.kind == Class::smem;
  const auto name = [&] { return operand_text(inst, operand, width); };
  for (unsigned k = first; k < first + width && k < (vector ? vectors : scalars); ++k) {
    const bool pending = vector ? info.pending[k] != 0 : info.scalar_pending[k] != 0;
    if (checks_.waits && pending && !(write && load)) {
      report_finding(
          w, inst, Problem::missing_wait, -1, 0,
          name() + (write ? " is overwritten" : " is read") + " while a load of it is outstanding");
      break;
    }
    const bool known = vector ? info.written[k] : info.scalar_written[k];
    if (checks_.uninitialised && !write && !known) {
      report_finding(w, inst, Problem::uninitialised_register, -1, 0,
                     name() + " is read before anything was written to it");
      break;
    }
  }
}

void Checker::lds_access(Wave& w, const Inst& inst, const std::uint32_t* offsets,
                         std::uint64_t mask, std::uint32_t size, Intent intent) {
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    for (std::uint32_t d = offsets[l] / 4; d <= (offsets[l] + size - 1) / 4; ++d) {
      const bool after_atomic = intent == Intent::update && lds_[d].by_atomic;
      if (intent != Intent::write && !after_atomic) check_read(w, inst, d);
      if (intent != Intent::read) check_write(w, inst, d, intent == Intent::update);
    }
  }
}

void Checker::check_read(Wave& w, const Inst& inst, std::uint32_t d) {
  Dword& dword = lds_[d];
  const std::uint64_t address = std::uint64_t{d} * 4;
  const bool mine = dword.writer == w.number;
  if (dword.written_epoch == 0) {
    if (checks_.uninitialised) {
      report_finding(w, inst, Problem::uninitialised_lds, -1, address,
                     "nothing was written to LDS offset " + std::to_string(address));
    }
  } else if (checks_.lds_races && !mine && dword.written_epoch == epoch_ && !dword.by_atomic) {
    report_finding(w, inst, Problem::lds_race, -1, address,
                   "LDS offset " + std::to_string(address) + " was written by wave " +
                       std::to_string(dword.writer) + " with no barrier between");
  } else if (checks_.waits && dword.serial != 0 && (!mine || dword.by_load)) {
    report_finding(w, inst, Problem::missing_wait, -1, address,
                   "LDS offset " + std::to_string(address) + " is read while the write of wave " +
                       std::to_string(dword.writer) + " is outstanding");
  }
  const bool other = dword.read_epoch == epoch_ && dword.reader != w.number;
  dword.reader = other ? several : w.number;
  dword.read_epoch = epoch_;
}

void Checker::check_write(Wave& w, const Inst& inst, std::uint32_t d, bool atomic) {
  Dword& dword = lds_[d];
  const std::uint64_t address = std::uint64_t{d} * 4;
  const bool read = dword.read_epoch == epoch_ && dword.reader != w.number;
  const bool written = dword.written_epoch == epoch_ && dword.writer != w.number;
  const bool both_atomic = atomic && (dword.by_atomic || dword.written_epoch != epoch_);
  if (checks_.lds_races && (read || written) && !both_atomic) {
    report_finding(w, inst, Problem::lds_race, -1, address,
                   "LDS offset " + std::to_string(address) + " was " +
                       (written ? "written" : "read") + " by another wave with no barrier between");
  }
  dword.writer = w.number;
  dword.written_epoch = epoch_;
  dword.by_atomic = atomic;
  dword.by_load = inst.kind != Class::lds;
  dword.serial = serial_;
  touched_.push_back(d);
}

}  // namespace mla::gfx
