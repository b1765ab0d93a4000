// Owns: what executes an instruction.
//
// Each family lists its operations by name; vector families exist once for each host path.
#pragma once

#include <span>
#include <string_view>

#include "hip_backend/gfx_emulator/exec/host_path.hpp"
#include "hip_backend/gfx_emulator/isa/inst.hpp"
#include "hip_backend/gfx_emulator/object/program.hpp"

namespace mla::gfx {

// Gives every instruction its handler: what it does on this path, or a fault where the operation
// has no semantics here or the code ends.
void bind(Program& program, HostPath path);

// Whether a bound instruction does what its operation says, and is no fault.
[[nodiscard]] bool has_semantics(const Inst& inst);

// Null where an operation is known to the decoder but has no semantics here. A load to LDS by the
// bit of MUBUF has a handler of its own.
struct Handlers {
  Handler run = nullptr;
  Handler run_lds = nullptr;
};
[[nodiscard]] Handlers handlers_of(const Operation& operation, Arch arch, HostPath path);

struct Entry {
  const char* name;
  Handler run;
  Only only = Only::both;
};
using Entries = std::span<const Entry>;

// Scalar families: one text for all hosts.
Entries scalar_alu_entries();
Entries scalar_flow_entries();
Entries scalar_memory_entries();

#define MLA_GFX_FAMILY(name, folder) Entries name##_entries();
namespace portable {
#include "hip_backend/gfx_emulator/exec/families.hpp"
}
namespace avx2 {
#include "hip_backend/gfx_emulator/exec/families.hpp"
}
#undef MLA_GFX_FAMILY
namespace avx512_bf16 {
Entries exp2_entries();
Entries matrix_pairs_entries();
Entries packed_half_entries();
// Whether this machine's vdpbf16ps is two fused multiply-adds, the upper halves first, each rounded
// to nearest even. Only where the machine has the instruction.
bool pairs_round_one_by_one();
}  // namespace avx512_bf16

}  // namespace mla::gfx
