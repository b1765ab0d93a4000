// Owns: which bytes of the scratch memory of a wave hold something, for each lane.
//
// A compiler spills registers that it does not know to be unwritten, and a function saves those of
// its caller: to store what nothing wrote is no mistake, and what is loaded from there is as good
// as unwritten. So is what is loaded from a place that nothing was stored to.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mla::gfx {

class ScratchBytes {
 public:
  void reset(std::uint32_t bytes_a_lane) {
    dwords_ = bytes_a_lane / 4 + 1;
    written_.assign(std::size_t{64} * dwords_, 0);
  }

  // An access while it runs: the offsets of its lanes.
  struct Access {
    std::uint32_t offsets[64];
    std::uint64_t lanes = 0;
    std::uint32_t size = 0;  // bytes
  };

  // Dword k of the access was written, or has lost what it had.
  void store(const Access& access, unsigned k, bool written) {
    each_byte(access, k, [&](std::uint8_t& dword, unsigned byte) {
      const auto bit = static_cast<std::uint8_t>(1U << byte);
      dword = static_cast<std::uint8_t>(written ? dword | bit : dword & ~bit);
    });
  }
  // Whether a lane loads a byte of dword k that holds something. Registers are not tracked by lane.
  [[nodiscard]] bool holds_any(const Access& access, unsigned k) {
    bool any = false;
    each_byte(access, k, [&](std::uint8_t& dword, unsigned byte) { any |= dword >> byte & 1; });
    return any;
  }

 private:
  template <class F>
  void each_byte(const Access& access, unsigned k, F visit) {
    const std::uint32_t first = 4 * k, size = std::min(access.size - first, 4U);
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      for (std::uint32_t n = 0; n < size; ++n) {
        const std::uint32_t at = access.offsets[lane] + first + n;
        visit(written_[std::size_t{lane} * dwords_ + at / 4], at % 4);
      }
    }
  }

  std::size_t dwords_ = 0;             // a lane
  std::vector<std::uint8_t> written_;  // for each dword of each lane, a bit for each byte
};

}  // namespace mla::gfx
