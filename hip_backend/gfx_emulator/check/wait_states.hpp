// Owns: missing wait states (s_nop) around matrix instructions, along all paths of a kernel.
//
// The hardware does not wait for the result of a matrix instruction: the program has to put so many
// wait states between it and the next use of its registers. An instruction is one wait state, s_nop
// N is N + 1, and a matrix instruction waits itself until the one before has gone through its
// passes. The numbers are those of the tables of required NOPs in AMD's CDNA 3 and CDNA 4 manuals,
// as LLVM's compiler takes them. The path with the fewest wait states counts.
//
// Looked at: results of matrix instructions that are read or overwritten, addends that are
// overwritten, vector registers and EXEC written just before a matrix instruction, results of dot
// products, and v_fma_f64 after a matrix instruction of f64. What is not followed is that of
// check/static_waits.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/object/code_object.hpp"

namespace mla::gfx {

struct MissingStates {
  std::uint32_t use = 0, producer = 0;  // offsets of the instructions in the image
  std::string what;                     // "v[0:3] is read", "the addend v[0:3] is overwritten"
  unsigned needed = 0, found = 0;       // wait states between the two
};

// By address of the use, then of the producer.
[[nodiscard]] std::vector<MissingStates> check_wait_states(const CodeObject& object,
                                                           const Kernel& kernel);

// How many passes of four cycles a matrix instruction takes; 0 for any other.
[[nodiscard]] unsigned matrix_passes(const CodeObject& object, const Inst& inst);

}  // namespace mla::gfx
