#include "hip_backend/gfx_emulator/exec/wave.hpp"

#include <bit>

#include "hip_backend/gfx_emulator/exec/assumptions.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace mla::gfx {
namespace {

constexpr std::uint16_t first_float = 240;
constexpr std::uint32_t floats[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                    0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr std::uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                    0xc000, 0x4400, 0xc400, 0x3118};
constexpr std::uint64_t doubles[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                     0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                     0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

bool is_float(std::uint16_t operand) {
  return operand >= first_float && operand <= 248;
}

// 128..192 are 0..64, 193..208 are -1..-16.
std::uint32_t inline_integer(std::uint16_t operand) {
  if (operand <= 192) return operand - 128U;
  if (operand <= 208) return 192U - operand;
  return 0;
}

std::uint32_t special(const Wave& wave, const Inst& inst, std::uint16_t operand) {
  switch (operand) {
    case code::literal:
      return inst.literal;
    case code::scc:
      return wave.scc;
    case code::vccz:
      return wave.pair(code::vcc) == 0;
    case code::execz:
      return wave.exec() == 0;
    case code::shared_base:
      return assumed::shared_aperture;
    case code::shared_limit:
      return 0xffff;
    case code::private_base:
      return assumed::private_aperture;
    case code::private_limit:
      return 0xffff;
    default:
      return inline_integer(operand);
  }
}

}  // namespace

std::uint32_t read_scalar(const Wave& wave, const Inst& inst, std::uint16_t operand) {
  if (operand < 128) return wave.s[operand];
  if (is_float(operand)) return floats[operand - first_float];
  return special(wave, inst, operand);
}

std::uint64_t read_scalar64(const Wave& wave, const Inst& inst, std::uint16_t operand) {
  if (operand < 127) return wave.pair(operand);
  if (is_float(operand)) return doubles[operand - first_float];
  switch (operand) {
    case code::shared_base:
      return std::uint64_t{assumed::shared_aperture} << 32;
    case code::private_base:
      return std::uint64_t{assumed::private_aperture} << 32;
    default:
      break;
  }
  if (operand == code::literal) return inst.literal;
  const std::uint32_t low = special(wave, inst, operand);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(low)));
}

std::uint64_t signed_literal(const Inst& inst) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(inst.literal)});
}

std::uint32_t inline_half(std::uint16_t operand) {
  return is_float(operand) ? halves[operand - first_float] : inline_integer(operand) & 0xffff;
}

std::uint64_t inline_double(std::uint16_t operand) {
  if (is_float(operand)) return doubles[operand - first_float];
  return static_cast<std::uint64_t>(
      static_cast<std::int64_t>(static_cast<std::int32_t>(inline_integer(operand))));
}

#if defined(__x86_64__)
std::uint32_t HostFloat::current() {
  return _mm_getcsr() & ~0x3fU;
}
void HostFloat::set(std::uint32_t control) {
  _mm_setcsr(control);
}
std::uint32_t HostFloat::for_mode(std::uint32_t mode) {
  static constexpr std::uint32_t rounding[] = {0, 2, 1, 3};  // nearest, up, down, to zero
  std::uint32_t control = plain | rounding[mode & 3] << 13;
  if ((mode >> 4 & 1) == 0) control |= 0x0040;  // sources: denormals are zeros
  if ((mode >> 5 & 1) == 0) control |= 0x8000;  // results: flush to zero
  return control;
}
#elif defined(__aarch64__)
std::uint32_t HostFloat::current() {
  std::uint64_t control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return static_cast<std::uint32_t>(control);
}
void HostFloat::set(std::uint32_t control) {
  __asm__ volatile("msr fpcr, %0" ::"r"(static_cast<std::uint64_t>(control)));
}
std::uint32_t HostFloat::for_mode(std::uint32_t mode) {
  // One bit flushes sources and results; AMD's rounding numbers are ARM's.
  return (mode & 3) << 22 | ((mode >> 4 & 3) != 3 ? 1U << 24 : 0U);
}
#else
#error "the gfx emulator knows the floating point control of x86-64 and AArch64 only"
#endif

}  // namespace mla::gfx
