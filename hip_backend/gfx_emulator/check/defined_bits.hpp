// Owns: which bits of the scalar registers of a wave are defined.
//
// A compiler keeps a mask with a bit for each lane in a pair of registers and defines only the bits
// of the lanes that are active: `s_or_b64 s[0:1], s[0:1], exec` of a pair that nothing wrote is
// right, as long as only those bits are used. So bitwise operations pass undefined bits on, bit by
// bit, and everything else that uses one is a mistake. A scalar that is spilled to a lane of a
// vector register takes its undefined bits there and back.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/lifetime.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

class DefinedBits {
 public:
  void reset(bool defined) {
    undefined_.fill(defined ? 0 : ~0U), scc_undefined_ = false;
    registers_.fill(defined ? 0 : ~std::uint64_t{0});
    spilled_.clear();
  }
  void define(unsigned first, unsigned width);

  // The undefined bits of an operand of one or two dwords; constants have none.
  [[nodiscard]] std::uint64_t undefined(std::uint16_t operand, unsigned width) const;

  // Registers with undefined bits, one bit for each.
  [[nodiscard]] const std::array<std::uint64_t, 2>& registers() const MLA_LIFETIME_BOUND {
    return registers_;
  }
  [[nodiscard]] bool scc_undefined() const { return scc_undefined_; }

  // Before the instruction runs: what it will leave undefined. Empty when it uses nothing that is
  // undefined; otherwise which register or flag.
  [[nodiscard]] const char* before(const Wave& wave, const Inst& inst);
  // After it ran: the results of before().
  void after(const Inst& inst);

  // Whether undefined bits of the sources are before()'s business.
  [[nodiscard]] static bool follows(const Wave& wave, const Inst& inst);
  // Whether the instruction takes a scalar to a lane of a vector register, or from there.
  [[nodiscard]] static bool moves_a_lane(const Wave& wave, const Inst& inst);

  // Whether a lane of a vector register, counted from v0, holds a scalar with undefined bits.
  [[nodiscard]] bool in_lanes_of(unsigned vector) const;
  void forget_lanes_of(unsigned vector);

 private:
  struct Spilled {
    unsigned vector, lane;
    std::uint32_t undefined;  // not 0
  };

  void set(unsigned reg, std::uint32_t bits);
  const char* before_lane(const Wave& wave, const Inst& inst, bool to);

  std::array<std::uint32_t, 128> undefined_ = {};
  std::array<std::uint64_t, 2> registers_ = {};
  std::uint64_t result_ = 0;  // undefined bits of the destination
  bool scc_undefined_ = false, scc_result_ = false;
  std::vector<Spilled> spilled_;
};

}  // namespace mla::gfx
