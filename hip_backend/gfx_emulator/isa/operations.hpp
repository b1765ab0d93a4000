// Owns: the operations of one architecture, each with its name, widths, class and handlers; built
// from the rows once for each architecture and set of handlers.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "hip_backend/gfx_emulator/isa/inst.hpp"

namespace mla::gfx {

// The same text compiled for the baseline of the host and for AVX2 with FMA.
enum class HostPath : std::uint8_t { portable, avx2 };
[[nodiscard]] HostPath best_host_path();

// Operations that copy, scalar ones that work bit by bit, and what depends on the flags they set.
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
  select,      // by SCC
  branch_scc,  // and everything else that reads SCC
  branch_vcc,
  wide_sum,  // of 64 bits: the upper half of the addend reaches the upper half of the result only
};

struct Operation {
  std::string name;  // "v_add_f32", "global_load_dwordx4"
  std::array<std::uint8_t, 4> width = {};
  Encoding encoding = Encoding::sopp;
  Class kind = Class::other;
  bool by_mode = false;  // floating point with the rounding and the denormals of MODE
  Bitwise bitwise = Bitwise::none;
  bool with_exec = false;     // bitwise: EXEC is the second source and the result
  Handler run = nullptr;      // null: known, but without semantics (a fault when reached)
  Handler run_lds = nullptr;  // MUBUF with the lds bit
};

// DS operations on two places have an offset of eight bits for each.
[[nodiscard]] bool has_two_offsets(const Operation& operation);

class Operations {
 public:
  static const Operations& of(Arch arch, HostPath path);

  // Index of an operation, or -1 where the encoding has no such number.
  [[nodiscard]] int find(Encoding encoding, unsigned op) const;
  [[nodiscard]] int named(std::string_view name) const;
  [[nodiscard]] const Operation& at(unsigned index) const { return all_[index]; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }

 private:
  Operations(Arch arch, HostPath path);
  void add(Encoding encoding, const Row& row, std::string name, Class kind);
  void add_table(Encoding encoding, const Row* rows, std::size_t count, Class kind);
  void add_compares();
  void add_memory();

  Arch arch_;
  HostPath path_;
  std::vector<Operation> all_;
  std::array<std::vector<std::int16_t>, static_cast<std::size_t>(Encoding::count)> index_;
};

}  // namespace mla::gfx
