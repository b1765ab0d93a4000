// Owns: which registers an instruction names, and whether they exist.
#pragma once

#include "hip_backend/gfx_emulator/isa/inst.hpp"

namespace mla::gfx {

[[nodiscard]] constexpr bool is_vector_memory(Class kind) {
  return kind == Class::buffer || kind == Class::global || kind == Class::flat ||
         kind == Class::scratch;
}

// Whether vmcnt or lgkmcnt counts it.
[[nodiscard]] constexpr bool counts_as_memory(Class kind) {
  return is_vector_memory(kind) || kind == Class::lds || kind == Class::smem;
}

// Registers that source `k` takes; scalar bases are wider than the lanes' operands.
[[nodiscard]] unsigned source_width(const Inst& inst, unsigned k);

// The registers among them that are read: a pair of f32 may take the same one for both results.
struct UsedPart {
  unsigned skip, width;
};
[[nodiscard]] UsedPart used_part(const Inst& inst, unsigned k);

// Whether every operand lies in its file: v0..v255, a0..a255, and the 128 scalar registers. What
// does not is an encoding without a meaning.
[[nodiscard]] bool registers_exist(const Inst& inst);

}  // namespace mla::gfx
