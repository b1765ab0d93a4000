// Owns: how operations find what executes them.
//
// Each family lists its operations by name; vector families exist once for each host path.
#pragma once

#include <span>
#include <string_view>

#include "hip_backend/gfx_emulator/isa/inst.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"

namespace mla::gfx {

struct Entry {
  const char* name;
  Handler run;
  Only only = Only::both;
};
using Entries = std::span<const Entry>;

// Null where an operation is known to the decoder but has no semantics here.
[[nodiscard]] Handler find_handler(std::string_view name, Arch arch, HostPath path);

// Stands for an operation that is known to the decoder but has no semantics here: a fault.
void not_implemented(Wave& wave, const Inst& inst);

// Stands where the code ends: reaching it is a fault.
void run_off_the_end(Wave& wave, const Inst& inst);

// Scalar families: one text for all hosts.
Entries scalar_alu_entries();
Entries scalar_flow_entries();
Entries scalar_memory_entries();

#define MLA_GFX_VECTOR_FAMILIES    \
  Entries float_entries();         \
  Entries float_special_entries(); \
  Entries convert_entries();       \
  Entries double_entries();        \
  Entries graphics_entries();      \
  Entries half_entries();          \
  Entries integer_entries();       \
  Entries integer_wide_entries();  \
  Entries compare_entries();       \
  Entries move_entries();          \
  Entries carry_entries();         \
  Entries packed_entries();        \
  Entries fp8_entries();           \
  Entries scaled_entries();        \
  Entries scaled_wide_entries();   \
  Entries matrix_entries();        \
  Entries matrix_f8f6f4_entries(); \
  Entries matrix_sparse_entries(); \
  Entries lds_entries();           \
  Entries lds_atomic_entries();    \
  Entries memory_entries();        \
  Entries memory_atomic_entries();
namespace portable {
MLA_GFX_VECTOR_FAMILIES
}
namespace avx2 {
MLA_GFX_VECTOR_FAMILIES
}
#undef MLA_GFX_VECTOR_FAMILIES

}  // namespace mla::gfx
