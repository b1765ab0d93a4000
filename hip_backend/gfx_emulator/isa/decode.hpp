// Owns: from machine words to pre-decoded instructions.
//
// An encoding that no table holds is an error that names the address and the bytes; nothing is
// skipped or guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/isa/inst.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"

namespace mla::gfx {

// Decodes the instruction at the front of `words`; `at` is its byte offset, kept and reported.
[[nodiscard]] Result<Inst> decode(const Operations& operations,
                                  std::span<const std::uint32_t> words, std::uint32_t at);

// The parts, one for each group of encodings. Each returns false for an unknown encoding.
namespace parts {

// `bits` bits of a word from bit `low` on.
inline std::uint16_t field(std::uint32_t word, unsigned low, unsigned bits) {
  return static_cast<std::uint16_t>(word >> low & ((1U << bits) - 1));
}
using Words = std::span<const std::uint32_t>;
bool scalar(const Operations& operations, Words words, Inst& inst);
bool vector(const Operations& operations, Words words, Inst& inst);
bool vop3(const Operations& operations, Words words, Inst& inst);
bool memory(const Operations& operations, Words words, Inst& inst);

// Takes over number, widths and class of an operation; false where the number is unknown.
bool take(const Operations& operations, Encoding encoding, unsigned op, Inst& inst);
bool take_literal(Words words, Inst& inst);
// Marks the sources that are no plain vector registers.
void mark_sources(Inst& inst);
}  // namespace parts

}  // namespace mla::gfx
