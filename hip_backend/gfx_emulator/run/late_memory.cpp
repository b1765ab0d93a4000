#include "hip_backend/gfx_emulator/run/late_memory.hpp"

#include <algorithm>

#include "hip_backend/gfx_emulator/exec/fidelity.hpp"
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 never = ~u64{0};
constexpr std::size_t none = ~std::size_t{0};
// Where the stand-in has operands: results first, then each source in rows of its own.
constexpr unsigned rows_of_source = 32, scalar_offset = 8, scalar_result = 32;
constexpr unsigned longest_delay = 10;  // random delays have up to so many bits

constexpr std::uint16_t row_of(unsigned source) {
  return static_cast<std::uint16_t>(code::vgpr + rows_of_source * (source + 1));
}

u64 mixed(u64 x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

}  // namespace

LateMemory::LateMemory(const Arrival& arrival)
    : arrival_(arrival), stand_in_(std::make_unique<Wave>()) {}

void LateMemory::start_group(const Group& group) {
  queues_.assign(group.waves.size(), {});
  const u64 place = group.id[0] + (u64{group.id[1]} << 20) + (u64{group.id[2]} << 40);
  for (std::size_t n = 0; n < queues_.size(); ++n) {
    queues_[n].random = mixed(arrival_.number + mixed(place + (u64{n} << 56)));
  }
  stand_in_->seen = Range{};
}

u64 LateMemory::draw_due(Queue& queue, const Wave& wave) {
  if (arrival_.mode == Arrival::Mode::late) return never;
  if (arrival_.mode == Arrival::Mode::after) return wave.executed + arrival_.number;
  queue.random = mixed(queue.random + 0x9e3779b97f4a7c15);
  const u64 bits = queue.random % (longest_delay + 1);
  return wave.executed + (queue.random >> 8 & ((u64{1} << bits) - 1));
}

void LateMemory::begin(Wave& wave, const Inst& inst) {
  Queue& queue = queues_[wave.number];
  const bool flat = inst.kind == Class::flat, vm = is_vector_memory(inst.kind);
  meet(wave, Met::late_memory);
  Operation operation;
  operation.inst = inst;
  operation.dst = inst.dst;
  operation.vm = vm;
  operation.lgkm = !vm || flat;
  operation.ordered = !flat && inst.kind != Class::smem;
  operation.executed = wave.executed;
  operation.exec = wave.exec();
  operation.m0 = wave.s[code::m0];
  operation.mode = wave.mode;
  operation.due = draw_due(queue, wave);
  if (operation.ordered) {
    u64& last = vm ? queue.last_vm : queue.last_lds;
    operation.due = last = std::max(last, operation.due);
  }
  keep_operands(wave, operation);
  queue.next_due = std::min(queue.next_due, operation.due);
  queue.operations.push_back(std::move(operation));
  // A full counter: the oldest is done before the next one is issued.
  if (vm) land_down_to(wave, true, WaitCounts::most_vm);
  if (!vm || flat) land_down_to(wave, false, WaitCounts::most_lgkm);
}

// Moves the operands to the places that the stand-in has for them, with their values of now.
void LateMemory::keep_operands(const Wave& wave, Operation& operation) const {
  Inst& inst = operation.inst;
  if (inst.dst != code::none) {
    inst.dst = static_cast<std::uint16_t>(inst.kind == Class::smem ? scalar_result : code::vgpr);
  }
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    std::uint16_t& from = inst.src[k];
    if (from == code::none) continue;
    const unsigned width = source_width(inst, k);
    if (from >= code::vgpr) {
      const u32* const first = wave.v[from - code::vgpr];
      operation.rows.insert(operation.rows.end(), first, first + std::size_t{width} * lanes);
      from = row_of(k);
    } else if (from < 128) {
      const bool base = inst.kind == Class::smem ? k == 0 : k == 2;
      std::copy_n(wave.s + from, base ? width : 1, operation.scalars.begin() + (base ? 0 : 4));
      from = base ? 0 : scalar_offset;
    }
  }
}

void LateMemory::lend_operands(const Wave& wave, const Operation& operation) {
  Wave& to = *stand_in_;
  const Inst& inst = operation.inst;
  const u32* from = operation.rows.data();
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    if (inst.src[k] != row_of(k)) continue;
    const std::size_t count = std::size_t{source_width(inst, k)} * lanes;
    std::copy_n(from, count, to.v[inst.src[k] - code::vgpr]);
    from += count;
  }
  std::copy_n(operation.scalars.begin(), 4, to.s);
  to.s[scalar_offset] = operation.scalars[4];
  to.s[code::m0] = operation.m0;
  to.set_pair(code::exec, operation.exec);
  if (to.mode != operation.mode || to.float_control == 0) set_mode(to, operation.mode);
  to.group = wave.group;
  to.number = wave.number;
  to.code = wave.code;
  to.scratch = wave.scratch;
  to.scratch_size = wave.scratch_size;
  to.executed = operation.executed;
}

// Reads and writes memory. The result stays with the operation.
void LateMemory::carry_out(Wave& wave, Operation& operation) {
  if (operation.done) return;
  operation.done = true;
  lend_operands(wave, operation);
  Wave& by = *stand_in_;
  const Inst& inst = operation.inst;
  const bool vector = operation.dst != code::none && operation.dst >= code::vgpr;
  const std::size_t count = vector ? std::size_t{inst.width[0]} * lanes : 0;
  // Parts of a register that the operation leaves alone keep what they have.
  if (vector) std::copy_n(wave.v[operation.dst - code::vgpr], count, by.v[0]);
  if (inst.by_mode) use_float_control(*wave.group, by.float_control);
  inst.run(by, inst);
  operation.rows.assign(by.v[0], by.v[0] + count);
  if (operation.dst != code::none && !vector) {
    operation.rows.assign(by.s + scalar_result, by.s + scalar_result + inst.width[0]);
  }
}

void LateMemory::land(Wave& wave, std::size_t index) {
  Queue& queue = queues_[wave.number];
  // What is older and may come in any order has reached memory before.
  for (std::size_t k = 0; k < index; ++k) {
    if (queue.operations[k].inst.kind == Class::flat) carry_out(wave, queue.operations[k]);
  }
  Operation& operation = queue.operations[index];
  carry_out(wave, operation);
  const unsigned width = operation.inst.width[0];
  if (operation.dst == code::none) {
  } else if (operation.dst >= code::vgpr) {
    u32(*const to)[lanes] = wave.v + (operation.dst - code::vgpr);
    for (unsigned k = 0; k < width; ++k) {
      for (unsigned l = 0; l < lanes; ++l) {
        if ((operation.exec >> l & 1) != 0) to[k][l] = operation.rows[k * lanes + l];
      }
    }
  } else {
    for (unsigned k = 0; k < width; ++k) {
      write_scalar(wave, static_cast<std::uint16_t>(operation.dst + k), operation.rows[k]);
    }
  }
  queue.operations.erase(queue.operations.begin() + static_cast<std::ptrdiff_t>(index));
}

// The operation of a counter that takes effect next: of those that promise an order the oldest, of
// the others the one that is due first. `promised`: the ordered ones only.
std::size_t LateMemory::next_to_land(const Queue& queue, bool vm, bool promised) {
  std::size_t next = none;
  bool seen_ordered = false;
  for (std::size_t k = 0; k < queue.operations.size(); ++k) {
    const Operation& operation = queue.operations[k];
    if (!(vm ? operation.vm : operation.lgkm)) continue;
    if (operation.ordered ? seen_ordered : promised) continue;
    seen_ordered = seen_ordered || operation.ordered;
    if (next == none || operation.due < queue.operations[next].due) next = k;
  }
  return next;
}

void LateMemory::land_down_to(Wave& wave, bool vm, std::size_t left) {
  Queue& queue = queues_[wave.number];
  // `late` lets a count above zero say nothing of operations without an order.
  const bool promised = arrival_.mode == Arrival::Mode::late && left != 0;
  while (true) {
    std::size_t outstanding = 0;
    for (const Operation& operation : queue.operations) {
      const bool counted = vm ? operation.vm : operation.lgkm;
      outstanding += counted && (operation.ordered || !promised) ? 1 : 0;
    }
    const std::size_t next = outstanding > left ? next_to_land(queue, vm, promised) : none;
    if (next == none) break;
    Operation& operation = queue.operations[next];
    (vm ? operation.vm : operation.lgkm) = false;
    // A FLAT operation is done when both counters say so.
    if (!operation.vm && !operation.lgkm) land(wave, next);
  }
  note_next(queue);
}

void LateMemory::wait(Wave& wave, const Inst& inst) {
  const WaitCounts counts = wait_counts(inst);
  if (counts.vm != WaitCounts::most_vm) land_down_to(wave, true, counts.vm);
  if (counts.lgkm != WaitCounts::most_lgkm) land_down_to(wave, false, counts.lgkm);
}

void LateMemory::land_due(Wave& wave) {
  Queue& queue = queues_[wave.number];
  for (std::size_t k = 0; k < queue.operations.size();) {
    if (queue.operations[k].due <= wave.executed) {
      land(wave, k);
    } else {
      ++k;
    }
  }
  note_next(queue);
}

void LateMemory::note_next(Queue& queue) {
  queue.next_due = never;
  for (const Operation& operation : queue.operations) {
    queue.next_due = std::min(queue.next_due, operation.due);
  }
}

void LateMemory::finish(Wave& wave) {
  while (!queues_[wave.number].operations.empty()) land(wave, 0);
}

}  // namespace mla::gfx
