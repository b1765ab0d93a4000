// Owns: which registers an instruction names, in the form in which the checks ask for them.
//
// The checks look at every executed instruction. Whether any of its registers has something to say
// (nothing was written to it, a load of it is outstanding) must cost a few loads and no search, so
// the registers are collected once for each instruction and host thread, when it runs first.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "hip_backend/gfx_emulator/isa/inst.hpp"

namespace mla::gfx {

struct Effects {
  struct Span {  // vector registers, counted from v0; a0 is 256
    std::uint16_t first = 0, count = 0;
  };
  std::array<std::uint64_t, 2> scalars = {};  // one bit for each scalar register, read or written
  std::array<Span, 5> vectors = {};           // read or written
  std::uint8_t spans = 0;                     // of them in use
  bool known = false;
};

// EXEC and VCC are among the scalars, whether the instruction uses them or not.
[[nodiscard]] Effects effects_of(const Inst& inst);

// The effects of the instructions of one code object.
class EffectsTable {
 public:
  // `index` of `inst` among the instructions.
  const Effects& of(std::size_t index, const Inst& inst) {
    if (index / page_size < pages_.size() && pages_[index / page_size] != nullptr) {
      const Effects& found = (*pages_[index / page_size])[index % page_size];
      if (found.known) return found;
    }
    return add(index, inst);
  }

 private:
  static constexpr std::size_t page_size = 64;
  const Effects& add(std::size_t index, const Inst& inst);

  std::vector<std::unique_ptr<std::array<Effects, page_size>>> pages_;
};

}  // namespace mla::gfx
