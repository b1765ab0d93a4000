// Owns: how many instructions a wave may execute where a user said nothing else.
//
// HIP programs, `mla-testbed gfx run`, Python and Triton have it; RunOptions alone have no limit.
#pragma once

#include <cstdint>

#include "core/result.hpp"

namespace mla::gfx {

// A wave that executes so many takes half a minute and more, so it rather waits for what never
// comes.
inline constexpr std::uint64_t most_instructions = 1'000'000'000;
inline constexpr const char* limit_variable = "MLA_TESTBED_INSTRUCTION_LIMIT";

// What the variable says, else most_instructions; 0: none. Fails on a value that is no number.
[[nodiscard]] Result<std::uint64_t> usual_instruction_limit();

}  // namespace mla::gfx
