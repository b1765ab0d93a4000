// Owns: what is known of an operation beside its number, its name and its widths.
#pragma once

#include <cstdint>

namespace mla::gfx {

enum class Arch : std::uint8_t { gfx942, gfx950 };
enum class Only : std::uint8_t { both, gfx942, gfx950 };
constexpr bool is_on(Only only, Arch arch) {
  return only == Only::both || (only == Only::gfx942) == (arch == Arch::gfx942);
}

// Statistics are kept by these, and the checks ask for them.
enum class Class : std::uint8_t {
  salu,
  smem,
  valu,
  packed,
  compare,
  accumulator_move,
  mfma,
  lds,
  buffer,
  global,
  flat,
  scratch,
  branch,
  wait,
  barrier,
  other,
  count
};

// Where control goes after an operation.
enum class Flow : std::uint8_t {
  next,
  branch,  // to the target or on
  jump,
  call,  // what is called comes back
  jump_to_register,
  call_to_register,
  end,
};

// Operations that copy, and scalar ones that work bit by bit.
enum class Bitwise : std::uint8_t {
  none,
  copy,
  invert,
  both,
  both_first_inverted,
  both_second_inverted,
  either,
  either_first_inverted,
  either_second_inverted,
  differ,
  not_both,
  neither,
  same,
  to_lane,  // of a vector register, where compilers spill scalars
  from_lane,
  select,  // by SCC
};

struct Traits {
  Only only = Only::both;
  Class kind = Class::count;  // count: the class of the encoding
  Flow flow = Flow::next;
  Bitwise bitwise = Bitwise::none;
  std::uint64_t flags = 0;

  // Of one flag.
  [[nodiscard]] constexpr bool has(const Traits& trait) const { return (flags & trait.flags) != 0; }
};

constexpr Traits operator|(Traits a, const Traits& b) {
  if (b.only != Only::both) a.only = b.only;
  if (b.kind != Class::count) a.kind = b.kind;
  if (b.flow != Flow::next) a.flow = b.flow;
  if (b.bitwise != Bitwise::none) a.bitwise = b.bitwise;
  a.flags |= b.flags;
  return a;
}

// The words of the tables.
namespace traits {
constexpr Traits flag(unsigned bit) {
  return {.flags = std::uint64_t{1} << bit};
}

inline constexpr Traits gfx942 = {.only = Only::gfx942}, gfx950 = {.only = Only::gfx950};

inline constexpr Traits branch = {.kind = Class::branch, .flow = Flow::branch};
inline constexpr Traits jump = {.kind = Class::branch, .flow = Flow::jump};
inline constexpr Traits call = {.kind = Class::branch, .flow = Flow::call};
inline constexpr Traits jump_to_register = {.kind = Class::branch, .flow = Flow::jump_to_register};
inline constexpr Traits call_to_register = {.kind = Class::branch, .flow = Flow::call_to_register};
inline constexpr Traits end = {.flow = Flow::end};
inline constexpr Traits wait = {.kind = Class::wait}, barrier = {.kind = Class::barrier};

// Floating point with the rounding and the denormals of MODE. Matrix instructions have their own.
inline constexpr Traits by_mode = flag(0);

// Registers that the encoding does not name. That EXEC masks the lanes of vector operations goes
// without saying.
inline constexpr Traits scc_in = flag(1), scc_out = flag(2);
inline constexpr Traits vcc_in = flag(3);
inline constexpr Traits exec_in = flag(4), exec_out = flag(5);
inline constexpr Traits m0_in = flag(6), m0_out = flag(7);
inline constexpr Traits with_exec = flag(8);  // EXEC is the second source and the result

// Operands that it names in a way of its own.
inline constexpr Traits carry_out = flag(9);      // a bit for each lane: VCC, or a pair of VOP3
inline constexpr Traits lane_mask_in = flag(10);  // likewise, as the third source
inline constexpr Traits accumulates = flag(11);   // the third source is the result's register
inline constexpr Traits swaps = flag(12);         // the source is a vector register, and written
inline constexpr Traits wide_addend = flag(13);   // the third source is a vector register
inline constexpr Traits wide_sources = flag(32);  // those of several numbers are vector registers
inline constexpr Traits wide_sum = flag(14);      // a source's upper half reaches the result's only
inline constexpr Traits scalar_result = flag(15);
inline constexpr Traits from_accumulator = flag(16), to_accumulator = flag(17);
inline constexpr Traits relative_source = flag(18);  // the register that M0 counts from it

// Encodings of their own.
inline constexpr Traits literal_second = flag(19), literal_third = flag(20);
inline constexpr Traits literal_only = flag(21);   // always the source
inline constexpr Traits one_half_each = flag(22);  // op_sel alone says which
inline constexpr Traits truth_table = flag(23);    // in the place of abs, neg and omod
inline constexpr Traits two_offsets = flag(24);    // of eight bits each
inline constexpr Traits atomic = flag(25);         // returns the old value where glc is set
inline constexpr Traits to_lds = flag(26);
inline constexpr Traits index_on = flag(27), index_off = flag(28), index_mode = flag(29);

inline constexpr Traits matrix = {.kind = Class::mfma};
inline constexpr Traits sparse = flag(30);          // the third source has the indices
inline constexpr Traits chosen_formats = flag(31);  // widths by cbsz and blgp

inline constexpr Traits accumulator_move = {.kind = Class::accumulator_move};

inline constexpr Traits copy = {.bitwise = Bitwise::copy}, invert = {.bitwise = Bitwise::invert};
inline constexpr Traits both = {.bitwise = Bitwise::both};
inline constexpr Traits both_first_inverted = {.bitwise = Bitwise::both_first_inverted};
inline constexpr Traits both_second_inverted = {.bitwise = Bitwise::both_second_inverted};
inline constexpr Traits either = {.bitwise = Bitwise::either};
inline constexpr Traits either_first_inverted = {.bitwise = Bitwise::either_first_inverted};
inline constexpr Traits either_second_inverted = {.bitwise = Bitwise::either_second_inverted};
inline constexpr Traits differ = {.bitwise = Bitwise::differ}, same = {.bitwise = Bitwise::same};
inline constexpr Traits not_both = {.bitwise = Bitwise::not_both};
inline constexpr Traits neither = {.bitwise = Bitwise::neither};
inline constexpr Traits to_lane = {.bitwise = Bitwise::to_lane};
inline constexpr Traits from_lane = {.bitwise = Bitwise::from_lane};
inline constexpr Traits select = {.bitwise = Bitwise::select};
}  // namespace traits

}  // namespace mla::gfx
