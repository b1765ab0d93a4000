#include "hip_backend/gfx_emulator/check/checker.hpp"

#include <algorithm>
#include <utility>

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {

namespace {

// The lanes whose vector registers an instruction uses. Where EXEC is 0 none does: compilers do not
// jump over a few instructions.
std::uint64_t used_lanes(const Wave& w, const Inst& inst) {
  const auto& operation = w.group->launch->object->operations().at(inst.op);
  const bool arithmetic = inst.kind == Class::compare || inst.kind == Class::packed ||
                          (inst.kind == Class::valu && inst.dst >= code::vgpr);
  const bool memory = is_vector_memory(inst.kind) || inst.kind == Class::lds;
  const bool across = inst.dpp || operation.has(traits::swaps) || operation.has(traits::exec_in);
  if (arithmetic && w.exec() == 0) return 0;
  return (arithmetic || memory) && !across ? w.exec() : ~std::uint64_t{0};
}

}  // namespace

Checker::Checker(Group& group, const Checks& checks) : checks_(checks), waves_(group.waves.size()) {
  dwords_.resize(group.lds_size / 4 + 1);
}

void Checker::start_group() {
  serial_ = 0;
  settled_ = nothing_yet;
  bytes_.resize(0);
  dwords_.forget();
  constexpr std::uint32_t half_of_all_epochs = 1U << (31 - tag::epoch_shift);
  if (++epoch_ < half_of_all_epochs) return;
  epoch_ = 1;
  const std::size_t count = dwords_.size();
  dwords_.resize(0);
  dwords_.resize(count);
}

void Checker::start_wave(const Wave& wave) {
  WaveInfo& info = waves_[wave.number];
  const Register fresh = checks_.uninitialised ? unwritten : Register{0};
  info.vector.fill(fresh);
  info.scalar.fill(0);
  info.loading.fill(0);
  for (Queue* const queue : {&info.vm, &info.lgkm, &info.smem, &info.flat_vm, &info.flat_lgkm}) {
    *queue = {};
  }
  info.bits.reset(!checks_.uninitialised);
  if (checks_.uninitialised) info.scratch.reset(wave.scratch_size);
  const Kernel& kernel = *wave.group->launch->kernel;
  const unsigned ids = static_cast<unsigned>(
      std::count(kernel.workgroup_id.begin(), kernel.workgroup_id.end(), true));
  mark_written(info, code::vgpr, 1);
  mark_written(info, 0, kernel.user_sgprs + ids);
  mark_written(info, 102, scalars - 102);
}

bool Checker::is_new(const Wave& w, const Inst& inst, Problem problem) {
  if (seen_.empty()) seen_.resize(w.group->launch->object->instructions().size());
  std::uint32_t& seen = seen_[w.group->launch->object->index_at(inst.at)];
  const std::uint32_t bit = 1U << static_cast<unsigned>(problem);
  if ((seen & bit) != 0) {
    ++repeated_;
    return false;
  }
  seen |= bit;
  return true;
}

void Checker::examine(Wave& w, const Inst& inst) {
  copies_undefined_ = checks_.uninitialised && copies_undefined(w, inst);
  upper_undefined_ = checks_.uninitialised && upper_undefined(w, inst);
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    if (inst.src[k] == code::none) continue;
    UsedPart part = used_part(inst, k);
    if (upper_undefined_ && k == 2) part.width = 1;
    const bool copies = copies_undefined_ || (inst.kind == Class::scratch && k == 1);
    check_operand(w, inst, static_cast<std::uint16_t>(inst.src[k] + part.skip), part.width,
                  copies ? Use::copy : Use::read);
  }
  if (inst.dst != code::none) check_operand(w, inst, inst.dst, inst.width[0], Use::write);
  if (checks_.uninitialised) check_bits(w, inst);
}

// A copy of what nothing wrote is no mistake yet: compilers copy values that are not used later.
// The copy is then as good as unwritten itself.
bool Checker::copies_undefined(const Wave& w, const Inst& inst) const {
  if (inst.kind != Class::valu && inst.kind != Class::accumulator_move) return false;
  if (!DefinedBits::follows(w, inst) || DefinedBits::moves_a_lane(w, inst)) return false;
  const WaveInfo& info = waves_[w.number];
  const std::uint16_t from = inst.src[0];
  if (from < code::vgpr) return info.bits.undefined(from, inst.width[1]) != 0;
  for (unsigned k = from - 256U; k < from - 256U + inst.width[1]; ++k) {
    if (k < vectors && (info.vector[k] & unwritten) != 0) return true;
  }
  return false;
}

// An addend whose lower half only has been written: a compiler that wants 32 bits of the sum does
// so.
bool Checker::upper_undefined(const Wave& w, const Inst& inst) const {
  const auto& operations = w.group->launch->object->operations();
  if (!operations.at(inst.op).has(traits::wide_sum) || inst.src[2] < code::vgpr) return false;
  const WaveInfo& info = waves_[w.number];
  const unsigned low = inst.src[2] - 256U;
  return (info.vector[low] & unwritten) == 0 && (info.vector[low + 1] & unwritten) != 0;
}

// Scalar registers: what uses a bit that nothing defined. Lanes that EXEC switches off do not use
// their bit of a carry or a selection.
void Checker::check_bits(Wave& w, const Inst& inst) {
  WaveInfo& info = waves_[w.number];
  const char* flag = info.bits.before(w, inst);
  const bool followed = DefinedBits::follows(w, inst);
  std::string name = flag != nullptr ? flag : "";
  for (unsigned k = 0; name.empty() && !followed && k < inst.src.size(); ++k) {
    const auto [skip, used] = used_part(inst, k);
    const unsigned width = skip + used;
    const bool for_lanes = k == 2 && inst.is_vector && inst.width[3] == 0;
    for (unsigned at = skip; at < width && inst.src[k] < scalars; at += 2) {
      const auto operand = static_cast<std::uint16_t>(inst.src[k] + at);
      const std::uint64_t bits = info.bits.undefined(operand, width - at);
      if ((for_lanes ? bits & w.exec() : bits) != 0) name = operand_text(inst, inst.src[k], width);
    }
  }
  if (name.empty() || !is_new(w, inst, Problem::uninitialised_register)) return;
  report_finding(w, inst, Problem::uninitialised_register, -1, 0,
                 name + " is read before anything was written to it");
}

void Checker::note_results(Wave& w, const Inst& inst) {
  if (inst.kind == Class::wait) return;
  WaveInfo& info = waves_[w.number];
  const bool moves_a_lane = checks_.uninitialised && DefinedBits::moves_a_lane(w, inst);
  if (copies_undefined_) {
    mark_unwritten(w, info, inst.dst, inst.width[0]);
  } else if (moves_a_lane && inst.dst >= code::vgpr) {
    Register& to = info.vector[inst.dst - 256U];
    const Register lanes = info.bits.in_lanes_of(inst.dst - 256U) ? undefined_lanes : Register{0};
    to = static_cast<Register>((to & ~(unwritten | undefined_lanes)) | lanes);
  } else if (upper_undefined_) {
    mark_written(info, inst.dst, 1);
    mark_unwritten(w, info, static_cast<std::uint16_t>(inst.dst + 1), 1);
  } else if (inst.dst != code::none) {
    mark_written(info, inst.dst, inst.width[0]);
  }
  if (checks_.uninitialised) info.bits.after(inst);
  if (inst.sdst != code::none && inst.kind != Class::mfma) mark_written(info, inst.sdst, 2);
}

void Checker::scratch_access(Wave&, const std::uint32_t* offsets, std::uint64_t lanes,
                             std::uint32_t size) {
  if (!checks_.uninitialised) return;
  std::copy_n(offsets, 64, scratch_.offsets);
  scratch_.lanes = lanes, scratch_.size = size;
}

// What nothing wrote goes to scratch, and comes back as that.
void Checker::note_scratch(const Wave& w, const Inst& inst) {
  WaveInfo& info = waves_[w.number];
  const auto keeps_a_half = [&] {
    const std::string& name = w.group->launch->object->operations().at(inst.op).name;
    return name.find("d16") != std::string::npos;
  };
  for (unsigned k = 0; k < (scratch_.size + 3) / 4; ++k) {
    if (inst.dst != code::none) {
      const auto to = static_cast<std::uint16_t>(inst.dst + k);
      if (info.scratch.holds_any(scratch_, k) || keeps_a_half()) continue;
      mark_unwritten(w, info, to, 1);
    } else if (inst.src[1] != code::none) {
      const unsigned from = inst.src[1] - 256U + k;
      info.scratch.store(scratch_, k, from >= vectors || (info.vector[from] & unwritten) == 0);
    }
  }
  scratch_.lanes = 0;
}

void Checker::begin_operation(const Wave& w, const Inst& inst) {
  WaveInfo& info = waves_[w.number];
  const bool scalar = inst.kind == Class::smem, flat = inst.kind == Class::flat;
  Operation operation;
  operation.serial = serial_;
  operation.at = inst.at;
  if (!scalar) operation.lanes = w.exec();
  operation.to_lds = std::exchange(writes_lds_, false);
  operation.from_lds = std::exchange(reads_lds_, false);
  if (inst.dst != code::none) {
    const unsigned first = scalar ? inst.dst : inst.dst - 256U, end = scalar ? scalars : vectors;
    operation.first = static_cast<std::uint16_t>(std::min(first, end));
    operation.count =
        static_cast<std::uint16_t>(std::min(first + inst.width[0], end) - operation.first);
    Register* const registers = scalar ? info.scalar.data() : info.vector.data();
    for (unsigned k = first; k < std::min(first + inst.width[0], end); ++k) {
      registers[k] = static_cast<Register>(registers[k] + (flat ? 2 : 1) * one_pending);
      if (scalar) info.loading[k / 64] |= std::uint64_t{1} << k % 64;
    }
  }
  if (flat) {
    info.flat_vm.add(operation);
    info.flat_lgkm.add(operation);
  } else if (scalar) {
    info.smem.add(operation);
  } else if (inst.kind == Class::lds) {
    info.lgkm.add(operation);
    retire(info.lgkm, WaitCounts::most_lgkm, info.vector.data());
  } else {
    info.vm.add(operation);
    retire(info.vm, WaitCounts::most_vm, info.vector.data());
  }
}

// Lanes that EXEC switches off keep what they have, which may be something.
void Checker::mark_unwritten(const Wave& w, WaveInfo& info, std::uint16_t operand, unsigned width) {
  if (w.exec() != ~std::uint64_t{0}) return;
  for (unsigned k = operand - 256U; k < operand - 256U + width && k < vectors; ++k) {
    info.vector[k] = static_cast<Register>(info.vector[k] | unwritten);
  }
}

void Checker::mark_written(WaveInfo& info, std::uint16_t operand, unsigned width) {
  if (operand < code::vgpr) return info.bits.define(operand, width);
  const unsigned first = operand - 256U;
  for (unsigned k = first; k < std::min(first + width, vectors); ++k) {
    if ((info.vector[k] & undefined_lanes) != 0) info.bits.forget_lanes_of(k);
    info.vector[k] = static_cast<Register>(info.vector[k] & ~(unwritten | undefined_lanes));
  }
}

void Checker::wait(const Inst& inst, WaveInfo& info) {
  const auto [vm, lgkm] = wait_counts(inst);
  retire(info.vm, vm, info.vector.data());
  retire(info.lgkm, lgkm, info.vector.data());
  if (vm == 0) retire(info.flat_vm, 0, info.vector.data());
  if (lgkm != 0) return;
  retire(info.flat_lgkm, 0, info.vector.data());
  retire(info.smem, 0, info.scalar.data());
  info.loading.fill(0);
}

void Checker::retire(Queue& queue, std::size_t left, Register* registers) {
  while (queue.size() > left) {
    const Operation& operation = queue.items[queue.begin++];
    for (unsigned k = operation.first; k < operation.first + operation.count; ++k) {
      registers[k] = static_cast<Register>(registers[k] - one_pending);
    }
    queue.arrived = operation.serial;
    queue.writes -= operation.to_lds ? 1 : 0;
    queue.reads -= operation.from_lds ? 1 : 0;
  }
  if (queue.size() == 0) {
    queue.items.clear();
    queue.begin = 0;
  }
}

void Checker::check_operand(Wave& w, const Inst& inst, std::uint16_t operand, unsigned width,
                            Use use) {
  const bool vector = operand >= code::vgpr;
  if (!vector && operand >= scalars) return;
  const WaveInfo& info = waves_[w.number];
  const Register* const registers = vector ? info.vector.data() : info.scalar.data();
  const unsigned first = vector ? operand - 256U : operand;
  const unsigned end = std::min(first + width, vector ? vectors : scalars);
  unsigned any = 0;
  for (unsigned k = first; k < end; ++k) any |= registers[k];
  if (any != 0) blame_operand(w, inst, operand, width, use);
}

// One of the registers has nothing written to it, or an operation outstanding.
void Checker::blame_operand(Wave& w, const Inst& inst, std::uint16_t operand, unsigned width,
                            Use use) {
  const bool write = use == Use::write;
  const bool vector = operand >= code::vgpr;
  const WaveInfo& info = waves_[w.number];
  const Register* const registers = vector ? info.vector.data() : info.scalar.data();
  const unsigned first = vector ? operand - 256U : operand;
  const unsigned end = std::min(first + width, vector ? vectors : scalars);
  // Loads of one kind come back in order: a later one may take over the register.
  const Class spared = write ? inst.kind : Class::other;
  const std::uint64_t lanes = vector ? used_lanes(w, inst) : ~std::uint64_t{0};
  Outstanding newest;  // it needs the strictest wait
  for (unsigned k = first; k < end && checks_.waits; ++k) {
    if (registers[k] < one_pending) continue;
    Outstanding found = outstanding_on(info, vector, k, lanes, spared);
    const bool newer =
        found.operation != nullptr &&
        (newest.operation == nullptr || found.operation->serial > newest.operation->serial);
    if (newer) newest = std::move(found);
  }
  if (newest.operation != nullptr) {
    if (!is_new(w, inst, Problem::missing_wait)) return;
    return report_finding(
        w, inst,
        {.problem = Problem::missing_wait,
         .text = operand_text(inst, operand, width) + (write ? " is overwritten" : " is read") +
                 " while a load of it is outstanding",
         .lanes = lanes & newest.operation->lanes,
         .cause = cause_at(w, w.group->id, w.number, newest.operation->at),
         .fix = newest.wait});
  }
  if (use != Use::read || lanes == 0) return;
  for (unsigned k = first; k < end; ++k) {
    if ((registers[k] & unwritten) != 0) {
      if (!is_new(w, inst, Problem::uninitialised_register)) return;
      return report_finding(
          w, inst, Problem::uninitialised_register, -1, 0,
          operand_text(inst, operand, width) + " is read before anything was written to it");
    }
  }
}

// Newest first: of several, the one that needs the strictest wait.
Checker::Outstanding Checker::outstanding_on(const WaveInfo& info, bool vector, unsigned reg,
                                             std::uint64_t lanes, Class spared) {
  const auto in = [&](const Queue& queue) -> const Operation* {
    for (std::size_t k = queue.items.size(); k-- > queue.begin;) {
      const Operation& o = queue.items[k];
      if (o.writes(reg) && (o.lanes & lanes) != 0) return &o;
    }
    return nullptr;
  };
  const auto newer = [](const Queue& queue, const Operation* operation) {
    return std::to_string(&queue.items.back() - operation);
  };
  if (!vector) return {in(info.smem), "s_waitcnt lgkmcnt(0)"};
  const bool from_memory = is_vector_memory(spared) && spared != Class::flat;
  if (!from_memory) {
    if (const Operation* o = in(info.vm)) return {o, "s_waitcnt vmcnt(" + newer(info.vm, o) + ")"};
  }
  if (spared != Class::lds) {
    if (const Operation* o = in(info.lgkm)) {
      return {o, "s_waitcnt lgkmcnt(" + newer(info.lgkm, o) + ")"};
    }
  }
  const Operation* flat = in(info.flat_vm);
  return {flat != nullptr ? flat : in(info.flat_lgkm), "s_waitcnt vmcnt(0) lgkmcnt(0)"};
}

}  // namespace mla::gfx
