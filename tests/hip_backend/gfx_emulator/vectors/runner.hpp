// Owns: executing vectors: a kernel that loads each state, runs the instruction, stores what came
// of it; and the comparison.
#pragma once

#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "vector.hpp"

namespace gfx_test {

// Runs all vectors in one launch and compares; a difference names the operation, the note and the
// lane. Fails when there is no vector.
void check(const Vectors& vectors, mla::gfx::Arch arch, mla::gfx::HostPath path);

// The code of the vectors, and where the instruction under test stands in it (dword index).
struct Program {
  Words words;
  std::vector<std::size_t> under_test;
};
[[nodiscard]] Program program_of(const Vectors& vectors, std::uint64_t memory);

}  // namespace gfx_test
