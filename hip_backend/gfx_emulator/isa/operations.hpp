// Owns: the operations of one architecture, each with its name, widths, class and traits; built
// from the rows once for each architecture.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifetime.hpp"
#include "hip_backend/gfx_emulator/isa/inst.hpp"
#include "hip_backend/gfx_emulator/isa/row.hpp"

namespace mla::gfx {

struct Operation {
  std::string name;  // "v_add_f32", "global_load_dwordx4"
  std::array<std::uint8_t, 4> width = {};
  Encoding encoding = Encoding::sopp;
  Class kind = Class::other;
  Traits traits = {};

  [[nodiscard]] bool has(const Traits& trait) const { return traits.has(trait); }
  // Goes to the place that its encoding names.
  [[nodiscard]] bool has_target() const {
    return traits.flow == Flow::branch || traits.flow == Flow::jump || traits.flow == Flow::call;
  }
};

class Operations {
 public:
  static const Operations& of(Arch arch);

  // Index of an operation, or -1 where the encoding has no such number.
  [[nodiscard]] int find(Encoding encoding, unsigned op) const;
  [[nodiscard]] int named(std::string_view name) const;
  [[nodiscard]] const Operation& at(unsigned index) const MLA_LIFETIME_BOUND { return all_[index]; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] Arch arch() const { return arch_; }

 private:
  explicit Operations(Arch arch);
  void add(Encoding encoding, const Row& row, std::string name, Class kind);
  void add_table(Encoding encoding, std::span<const Row> rows, Class kind);
  void add_compares();
  void add_memory();

  Arch arch_;
  std::vector<Operation> all_;
  std::array<std::vector<std::int16_t>, static_cast<std::size_t>(Encoding::count)> index_;
};

}  // namespace mla::gfx
