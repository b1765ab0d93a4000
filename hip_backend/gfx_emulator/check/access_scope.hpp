// The scope that an access to global memory names by its bits sc0 and sc1.
#pragma once

#include <cstdint>

#include "hip_backend/gfx_emulator/exec/memory/watch.hpp"
#include "hip_backend/gfx_emulator/isa/inst.hpp"

namespace mla::gfx {

// In which the access counts as atomic. sc0 of a read-modify-write asks for what was there before,
// and names no scope.
enum class Scope : std::uint8_t { none, of_group, of_launch };

inline Scope scope_of(const Inst& inst, Intent intent) {
  if (intent == Intent::update) return Scope::of_launch;
  if (inst.kind == Class::smem) return Scope::none;
  return inst.sc1 ? Scope::of_launch : inst.glc ? Scope::of_group : Scope::none;
}

}  // namespace mla::gfx
