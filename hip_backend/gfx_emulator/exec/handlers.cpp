#include "hip_backend/gfx_emulator/exec/handlers.hpp"

#include <array>
#include <map>
#include <string>

namespace mla::gfx {

float opaque_one = 1.0F;  // declared in float-inl.hpp; never written

namespace {

using Table = std::map<std::string, Entry, std::less<>>;

void add(Table& table, Arch arch, Entries entries) {
  for (const Entry& entry : entries) {
    if (entry.only == Only::gfx942 && arch != Arch::gfx942) continue;
    if (entry.only == Only::gfx950 && arch != Arch::gfx950) continue;
    table.emplace(entry.name, entry);
  }
}

#define MLA_GFX_ADD(path)                                                                        \
  for (const Entries& family : {path::float_entries(),         path::float_special_entries(),    \
                                path::convert_entries(),       path::double_entries(),           \
                                path::graphics_entries(),      path::half_entries(),             \
                                path::integer_entries(),       path::integer_wide_entries(),     \
                                path::compare_entries(),       path::move_entries(),             \
                                path::carry_entries(),         path::packed_entries(),           \
                                path::fp8_entries(),           path::scaled_entries(),           \
                                path::scaled_wide_entries(),   path::matrix_entries(),           \
                                path::matrix_f8f6f4_entries(), path::matrix_sparse_entries(),    \
                                path::lds_entries(),           path::lds_atomic_entries(),       \
                                path::memory_entries(),        path::memory_atomic_entries()}) { \
    add(table, arch, family);                                                                    \
  }

Table make_table(Arch arch, [[maybe_unused]] HostPath path) {
  Table table;
  add(table, arch, scalar_alu_entries());
  add(table, arch, scalar_flow_entries());
  add(table, arch, scalar_memory_entries());
#if defined(__x86_64__)
  if (path == HostPath::avx2) {
    MLA_GFX_ADD(avx2)
    return table;
  }
#endif
  MLA_GFX_ADD(portable)
  return table;
}

}  // namespace

Handler find_handler(std::string_view name, Arch arch, HostPath path) {
  static const std::array<Table, 4> tables = {
      make_table(Arch::gfx942, HostPath::portable), make_table(Arch::gfx942, HostPath::avx2),
      make_table(Arch::gfx950, HostPath::portable), make_table(Arch::gfx950, HostPath::avx2)};
  const Table& table = tables[2 * static_cast<std::size_t>(arch) + static_cast<std::size_t>(path)];
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second.run;
}

}  // namespace mla::gfx
