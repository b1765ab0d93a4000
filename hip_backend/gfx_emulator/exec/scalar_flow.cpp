// Program flow, hardware registers, the gpr index mode, and what only takes time.
#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"
#include "hip_backend/gfx_emulator/exec/scalar_relative.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

void jump(Wave& w, const Inst& i, u32 index) {
  if (index == CodeObject::npos) {
    report_fault(w, i, Problem::bad_jump, -1, 0, "the branch leads to no instruction");
    w.state = WaveState::ended;
    return;
  }
  w.next = index;
}

void jump_to(Wave& w, const Inst& i, u64 address) {
  const CodeObject& object = *w.group->launch->object;
  const u64 offset = address - reinterpret_cast<u64>(object.image());
  const u32 index = object.index_at(offset);
  if (index == CodeObject::npos) {
    report_fault(w, i, Problem::bad_jump, -1, address, "the jump leads to no instruction");
    w.state = WaveState::ended;
    return;
  }
  w.next = index;
}

u64 following(const Wave& w, const Inst& i) {
  return reinterpret_cast<u64>(w.group->launch->object->image()) + i.at + u64{4} * i.words;
}

template <class F>
constexpr Handler branch_if(F) {
  return [](Wave& w, const Inst& i) {
    if (F{}(w)) jump(w, i, static_cast<u32>(i.imm));
  };
}

struct HardwareRegister {
  u32 id, offset, size;
};

HardwareRegister hardware_register(const Inst& i) {
  const u32 bits = static_cast<u32>(i.imm);
  return {bits & 63, bits >> 6 & 31, (bits >> 11 & 31) + 1};
}

u32 ones(u32 size) {
  return size == 32 ? ~0U : (1U << size) - 1;
}

constexpr u32 mode_register = 1, status_register = 2, lds_register = 6;

void get_register(Wave& w, const Inst& i) {
  const auto [id, offset, size] = hardware_register(i);
  u32 value = 0;
  if (id == mode_register) value = w.mode;
  if (id == status_register) value = w.scc | (w.exec() == 0 ? 1U << 9 : 0);
  if (id == lds_register) value = w.group->lds_size / 512 << 12;
  write_scalar(w, i.dst, value >> offset & ones(size));
}

void set_register(Wave& w, const Inst& i) {
  const auto [id, offset, size] = hardware_register(i);
  if (id != mode_register) return;
  const u32 field = ones(size) << offset, value = read_scalar(w, i, i.src[0]);
  set_mode(w, (w.mode & ~field) | (value << offset & field));
}

void index_on(Wave& w, const Inst& i) {
  const u32 flags = static_cast<u32>(i.imm) & 15;
  const u32 base = read_scalar(w, i, i.src[0]) & 0xff;
  w.s[code::m0] = (w.s[code::m0] & ~0xf0ffU) | flags << 12 | base;
  w.gpr_index = flags | 16;
}

void index_mode(Wave& w, const Inst& i) {
  w.s[code::m0] = (w.s[code::m0] & ~0xf000U) | (static_cast<u32>(i.imm) & 15) << 12;
  if (w.gpr_index != 0) w.gpr_index = (static_cast<u32>(i.imm) & 15) | 16;
}

void index_base(Wave& w, const Inst& i) {
  w.s[code::m0] = (w.s[code::m0] & ~0xffU) | (read_scalar(w, i, i.src[0]) & 0xff);
}

void trap(Wave& w, const Inst& i) {
  if ((i.imm & 0xff) == 3) return;
  report_fault(w, i, Problem::trap, -1, 0, "the kernel trapped with code " + std::to_string(i.imm));
  w.state = WaveState::ended;
}

void nothing(Wave&, const Inst&) {}

const Entry flow_table[] = {
    {"s_branch", branch_if([](const Wave&) { return true; })},
    {"s_cbranch_scc0", branch_if([](const Wave& w) { return w.scc == 0; })},
    {"s_cbranch_scc1", branch_if([](const Wave& w) { return w.scc != 0; })},
    {"s_cbranch_vccz", branch_if([](const Wave& w) { return w.pair(code::vcc) == 0; })},
    {"s_cbranch_vccnz", branch_if([](const Wave& w) { return w.pair(code::vcc) != 0; })},
    {"s_cbranch_execz", branch_if([](const Wave& w) { return w.exec() == 0; })},
    {"s_cbranch_execnz", branch_if([](const Wave& w) { return w.exec() != 0; })},
    {"s_getpc_b64", [](Wave& w, const Inst& i) { write_scalar64(w, i.dst, following(w, i)); }},
    {"s_setpc_b64", [](Wave& w, const Inst& i) { jump_to(w, i, read_scalar64(w, i, i.src[0])); }},
    {"s_swappc_b64",
     [](Wave& w, const Inst& i) {
       const u64 target = read_scalar64(w, i, i.src[0]);
       write_scalar64(w, i.dst, following(w, i));
       jump_to(w, i, target);
     }},
    {"s_call_b64",
     [](Wave& w, const Inst& i) {
       write_scalar64(w, i.dst, following(w, i));
       jump(w, i, static_cast<u32>(i.imm));
     }},
    {"s_endpgm", [](Wave& w, const Inst&) { w.state = WaveState::ended; }},
    {"s_barrier", [](Wave& w, const Inst&) { w.state = WaveState::at_barrier; }},
    {"s_getreg_b32", get_register},
    {"s_setreg_b32", set_register},
    {"s_setreg_imm32_b32", set_register},
    {"s_set_gpr_idx_on", index_on},
    {"s_set_gpr_idx_off", [](Wave& w, const Inst&) { w.gpr_index = 0; }},
    {"s_set_gpr_idx_mode", index_mode},
    {"s_set_gpr_idx_idx", index_base},
    {"s_movrels_b32", move_from_relative},
    {"s_movrels_b64", move_from_relative},
    {"s_movreld_b32", move_to_relative},
    {"s_movreld_b64", move_to_relative},
    {"s_trap", trap},
    {"s_nop", nothing},
    {"s_waitcnt", nothing},
    {"s_sleep", nothing},
    {"s_setprio", nothing},
    {"s_sethalt", nothing},
    {"s_sendmsg", nothing},
    {"s_sendmsghalt", nothing},
    {"s_wakeup", nothing},
    {"s_icache_inv", nothing},
    {"s_incperflevel", nothing},
    {"s_decperflevel", nothing},
    {"buffer_wbl2", nothing},
    {"buffer_inv", nothing},
};

}  // namespace

Entries scalar_flow_entries() {
  return flow_table;
}

}  // namespace mla::gfx
