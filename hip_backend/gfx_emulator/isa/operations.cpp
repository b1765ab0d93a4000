#include "hip_backend/gfx_emulator/isa/operations.hpp"

namespace mla::gfx {
const Operations& Operations::of(Arch arch) {
  static const Operations tables[] = {Operations(Arch::gfx942), Operations(Arch::gfx950)};
  return tables[static_cast<std::size_t>(arch)];
}

Operations::Operations(Arch arch) : arch_(arch) {
  for (auto& numbers : index_) numbers.assign(1024, -1);
  add_table(Encoding::sop1, sop1_rows(), Class::salu);
  add_table(Encoding::sop2, sop2_rows(), Class::salu);
  add_table(Encoding::sopk, sopk_rows(), Class::salu);
  add_table(Encoding::sopc, sopc_rows(), Class::salu);
  add_table(Encoding::sopp, sopp_rows(), Class::other);
  add_table(Encoding::smem, smem_rows(), Class::smem);
  add_table(Encoding::vop1, vop1_rows(), Class::valu);
  add_table(Encoding::vop2, vop2_rows(), Class::valu);
  add_table(Encoding::vop3, vop3_rows(), Class::valu);
  add_table(Encoding::vop3p, vop3p_rows(), Class::packed);
  add_table(Encoding::ds, ds_rows(), Class::lds);
  add_compares();
  add_memory();
}

void Operations::add(Encoding encoding, const Row& row, std::string name, Class kind) {
  const Traits& traits = row.traits;
  if (!is_on(traits.only, arch_)) return;
  index_[static_cast<std::size_t>(encoding)][row.op] = static_cast<std::int16_t>(all_.size());
  all_.push_back({.name = std::move(name),
                  .width = row.width,
                  .encoding = encoding,
                  .kind = traits.kind != Class::count ? traits.kind : kind,
                  .traits = traits});
}

void Operations::add_table(Encoding encoding, std::span<const Row> rows, Class kind) {
  for (const Row& row : rows) add(encoding, row, row.name, kind);
}

// VOPC is regular: a block of sixteen relations for each type, and v_cmpx 16 (integers: 16) above.
void Operations::add_compares() {
  static const char* const reals[] = {"f", "lt",  "eq",  "le",  "gt",  "lg",  "ge",  "o",
                                      "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"};
  static const char* const wholes[] = {"f", "lt", "eq", "le", "gt", "ne", "ge", "t"};
  struct Block {
    std::uint16_t base;
    const char* type;
    std::uint8_t width;
  };
  for (const auto& [base, type, width] : {Block{0x20, "f16", 1},
                                          {0x40, "f32", 1},
                                          {0x60, "f64", 2},
                                          {0xa0, "16", 1},
                                          {0xc0, "32", 1},
                                          {0xe0, "64", 2}}) {
    for (std::uint16_t x = 0; x < 32; ++x) {
      const bool real = type[0] == 'f', to_exec = x >= 16;
      const std::string suffix =
          real ? std::string(reals[x % 16]) + "_" + type
               : std::string(wholes[x % 8]) + (x % 16 < 8 ? "_i" : "_u") + type;
      add(Encoding::vopc,
          {static_cast<std::uint16_t>(base + x),
           "",
           {0, width, width, 0},
           (real ? traits::by_mode : Traits{}) | (to_exec ? traits::exec_out : Traits{})},
          (to_exec ? "v_cmpx_" : "v_cmp_") + suffix, Class::compare);
    }
  }
  std::uint16_t op = 0x10;
  for (const char* type : {"f32", "f64", "f16"}) {
    const std::uint8_t width = type == std::string_view("f64") ? 2 : 1;
    const auto add_class = [&](const char* stem, Traits traits) {
      add(Encoding::vopc, {op++, "", {0, width, 1, 0}, traits}, std::string(stem) + type,
          Class::compare);
    };
    add_class("v_cmp_class_", traits::by_mode);
    add_class("v_cmpx_class_", traits::by_mode | traits::exec_out);
  }
}

void Operations::add_memory() {
  for (Row row : memory_rows()) {
    const std::string name = row.name;
    const bool to_lds = row.traits.has(traits::to_lds), atomic = row.traits.has(traits::atomic);
    add(Encoding::global, row, "global_" + name, Class::global);
    if (!to_lds) add(Encoding::flat, row, "flat_" + name, Class::flat);
    if (!atomic && row.op < 0x40) add(Encoding::scratch, row, "scratch_" + name, Class::scratch);
    if (to_lds) continue;
    row.width[3] = 4;  // the buffer descriptor
    if (name == "atomic_pk_add_bf16") row.traits.only = Only::gfx950;
    add(Encoding::mubuf, row, "buffer_" + name, Class::buffer);
  }
  add(Encoding::mubuf, {0x28, "", {}}, "buffer_wbl2", Class::other);
  add(Encoding::mubuf, {0x29, "", {}}, "buffer_inv", Class::other);
}

int Operations::find(Encoding encoding, unsigned op) const {
  const auto& numbers = index_[static_cast<std::size_t>(encoding)];
  return op < numbers.size() ? numbers[op] : -1;
}

int Operations::named(std::string_view name) const {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace mla::gfx
