#include "hip_backend/gfx_emulator/isa/operations.hpp"

#include "hip_backend/gfx_emulator/exec/handlers.hpp"

namespace mla::gfx {
namespace {

bool starts(std::string_view text, std::string_view with) {
  return text.starts_with(with);
}

Class class_of(std::string_view name, Class otherwise) {
  if (starts(name, "s_cbranch") || name == "s_branch" || name == "s_setpc_b64" ||
      name == "s_swappc_b64" || name == "s_call_b64") {
    return Class::branch;
  }
  if (name == "s_waitcnt") return Class::wait;
  if (name == "s_barrier") return Class::barrier;
  if (starts(name, "v_mfma") || starts(name, "v_smfmac")) return Class::mfma;
  if (starts(name, "v_accvgpr")) return Class::accumulator_move;
  return otherwise;
}

// Floating point has its type in its name. Matrix instructions have a mode of their own.
bool computes_by_mode(std::string_view name, Class kind) {
  if (kind == Class::mfma) return false;
  for (const char* const type : {"f16", "f32", "f64"}) {
    if (name.find(type) != std::string_view::npos) return true;
  }
  return false;
}

Bitwise bitwise_of(std::string_view name) {
  struct Rule {
    const char* stem;
    Bitwise bitwise;
  };
  for (const auto& [stem, bitwise] : {Rule{"s_mov_b", Bitwise::copy},
                                      {"v_mov_b", Bitwise::copy},
                                      {"v_accvgpr_", Bitwise::copy},
                                      {"v_writelane_", Bitwise::to_lane},
                                      {"v_readlane_", Bitwise::from_lane},
                                      {"s_not_", Bitwise::invert},
                                      {"s_and_", Bitwise::both},
                                      {"s_andn1_", Bitwise::both_first_inverted},
                                      {"s_andn2_", Bitwise::both_second_inverted},
                                      {"s_or_", Bitwise::either},
                                      {"s_orn1_", Bitwise::either_first_inverted},
                                      {"s_orn2_", Bitwise::either_second_inverted},
                                      {"s_xor_", Bitwise::differ},
                                      {"s_nand_", Bitwise::not_both},
                                      {"s_nor_", Bitwise::neither},
                                      {"s_xnor_", Bitwise::same},
                                      {"s_cselect_", Bitwise::select},
                                      {"s_cbranch_scc", Bitwise::branch_scc},
                                      {"s_addc_", Bitwise::branch_scc},
                                      {"s_subb_", Bitwise::branch_scc},
                                      {"s_cmov", Bitwise::branch_scc},
                                      {"s_cbranch_vcc", Bitwise::branch_vcc},
                                      {"v_mad_u64", Bitwise::wide_sum},
                                      {"v_mad_i64", Bitwise::wide_sum}}) {
    if (starts(name, stem)) return bitwise;
  }
  return Bitwise::none;
}

}  // namespace

bool has_two_offsets(const Operation& operation) {
  if (operation.encoding != Encoding::ds) return false;
  for (const char* const stem : {"ds_read2", "ds_write2", "ds_wrxchg2"}) {
    if (starts(operation.name, stem)) return true;
  }
  return false;
}

HostPath best_host_path() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return HostPath::avx2;
#endif
  return HostPath::portable;
}

const Operations& Operations::of(Arch arch, HostPath path) {
  static const Operations tables[2][2] = {
      {Operations(Arch::gfx942, HostPath::portable), Operations(Arch::gfx942, HostPath::avx2)},
      {Operations(Arch::gfx950, HostPath::portable), Operations(Arch::gfx950, HostPath::avx2)}};
  return tables[static_cast<std::size_t>(arch)][static_cast<std::size_t>(path)];
}

Operations::Operations(Arch arch, HostPath path) : arch_(arch), path_(path) {
  for (auto& numbers : index_) numbers.assign(1024, -1);
  add_table(Encoding::sop1, sop1_rows, sop1_rows_count, Class::salu);
  add_table(Encoding::sop2, sop2_rows, sop2_rows_count, Class::salu);
  add_table(Encoding::sopk, sopk_rows, sopk_rows_count, Class::salu);
  add_table(Encoding::sopc, sopc_rows, sopc_rows_count, Class::salu);
  add_table(Encoding::sopp, sopp_rows, sopp_rows_count, Class::other);
  add_table(Encoding::smem, smem_rows, smem_rows_count, Class::smem);
  add_table(Encoding::vop1, vop1_rows, vop1_rows_count, Class::valu);
  add_table(Encoding::vop2, vop2_rows, vop2_rows_count, Class::valu);
  add_table(Encoding::vop3, vop3_rows, vop3_rows_count, Class::valu);
  add_table(Encoding::vop3p, vop3p_rows, vop3p_rows_count, Class::packed);
  add_table(Encoding::ds, ds_rows, ds_rows_count, Class::lds);
  add_compares();
  add_memory();
}

void Operations::add(Encoding encoding, const Row& row, std::string name, Class kind) {
  if (row.only == Only::gfx942 && arch_ != Arch::gfx942) return;
  if (row.only == Only::gfx950 && arch_ != Arch::gfx950) return;
  Operation operation{.name = std::move(name),
                      .width = row.width,
                      .encoding = encoding,
                      .kind = Class::other,
                      .by_mode = false,
                      .bitwise = Bitwise::none,
                      .with_exec = false,
                      .run = nullptr,
                      .run_lds = nullptr};
  operation.kind = class_of(operation.name, kind);
  operation.bitwise = bitwise_of(operation.name);
  operation.with_exec = operation.name.find("exec_b64") != std::string::npos;
  operation.by_mode = computes_by_mode(operation.name, operation.kind);
  operation.run = find_handler(operation.name, arch_, path_);
  if (encoding == Encoding::mubuf && starts(operation.name, "buffer_load_")) {
    operation.run_lds = find_handler("buffer_load_lds_" + operation.name.substr(12), arch_, path_);
  }
  index_[static_cast<std::size_t>(encoding)][row.op] = static_cast<std::int16_t>(all_.size());
  all_.push_back(std::move(operation));
}

void Operations::add_table(Encoding encoding, const Row* rows, std::size_t count, Class kind) {
  for (std::size_t i = 0; i < count; ++i) add(encoding, rows[i], rows[i].name, kind);
}

// VOPC is regular: a block of sixteen relations for each type, and v_cmpx 16 (integers: 16) above.
void Operations::add_compares() {
  static const char* const real[] = {"f", "lt",  "eq",  "le",  "gt",  "lg",  "ge",  "o",
                                     "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"};
  static const char* const whole[] = {"f", "lt", "eq", "le", "gt", "ne", "ge", "t"};
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
      const std::string stem = x < 16 ? "v_cmp_" : "v_cmpx_";
      const std::string suffix =
          type[0] == 'f' ? std::string(real[x % 16]) + "_" + type
                         : std::string(whole[x % 8]) + (x % 16 < 8 ? "_i" : "_u") + type;
      add(Encoding::vopc, {static_cast<std::uint16_t>(base + x), "", {0, width, width, 0}},
          stem + suffix, Class::compare);
    }
  }
  std::uint16_t op = 0x10;
  for (const char* type : {"f32", "f64", "f16"}) {
    const std::uint8_t width = type == std::string_view("f64") ? 2 : 1;
    for (const char* stem : {"v_cmp_class_", "v_cmpx_class_"}) {
      add(Encoding::vopc, {op++, "", {0, width, 1, 0}}, std::string(stem) + type, Class::compare);
    }
  }
}

void Operations::add_memory() {
  for (std::size_t i = 0; i < memory_rows_count; ++i) {
    Row row = memory_rows[i];
    const std::string name = row.name;
    const bool to_lds = starts(name, "load_lds"), atomic = starts(name, "atomic");
    add(Encoding::global, row, "global_" + name, Class::global);
    if (!to_lds) add(Encoding::flat, row, "flat_" + name, Class::flat);
    if (!atomic && row.op < 0x40) add(Encoding::scratch, row, "scratch_" + name, Class::scratch);
    if (to_lds) continue;
    row.width[3] = 4;  // the buffer descriptor
    if (name == "atomic_pk_add_bf16") row.only = Only::gfx950;
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
