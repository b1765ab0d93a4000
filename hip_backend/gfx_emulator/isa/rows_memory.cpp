// What FLAT, GLOBAL, SCRATCH and MUBUF have in common: the same numbers mean the same operation.
// Widths: destination, address, data.
#include "hip_backend/gfx_emulator/isa/row.hpp"

namespace mla::gfx {
namespace {

using namespace traits;

constexpr Row memory_table[] = {
    {0x10, "load_ubyte", {1, 2, 0, 0}},
    {0x11, "load_sbyte", {1, 2, 0, 0}},
    {0x12, "load_ushort", {1, 2, 0, 0}},
    {0x13, "load_sshort", {1, 2, 0, 0}},
    {0x14, "load_dword", {1, 2, 0, 0}},
    {0x15, "load_dwordx2", {2, 2, 0, 0}},
    {0x16, "load_dwordx3", {3, 2, 0, 0}},
    {0x17, "load_dwordx4", {4, 2, 0, 0}},
    {0x18, "store_byte", {0, 2, 1, 0}},
    {0x19, "store_byte_d16_hi", {0, 2, 1, 0}},
    {0x1a, "store_short", {0, 2, 1, 0}},
    {0x1b, "store_short_d16_hi", {0, 2, 1, 0}},
    {0x1c, "store_dword", {0, 2, 1, 0}},
    {0x1d, "store_dwordx2", {0, 2, 2, 0}},
    {0x1e, "store_dwordx3", {0, 2, 3, 0}},
    {0x1f, "store_dwordx4", {0, 2, 4, 0}},
    {0x20, "load_ubyte_d16", {1, 2, 0, 0}},
    {0x21, "load_ubyte_d16_hi", {1, 2, 0, 0}},
    {0x22, "load_sbyte_d16", {1, 2, 0, 0}},
    {0x23, "load_sbyte_d16_hi", {1, 2, 0, 0}},
    {0x24, "load_short_d16", {1, 2, 0, 0}},
    {0x25, "load_short_d16_hi", {1, 2, 0, 0}},
    {0x26, "load_lds_ubyte", {0, 2, 0, 0}, to_lds},
    {0x27, "load_lds_sbyte", {0, 2, 0, 0}, to_lds},
    {0x28, "load_lds_ushort", {0, 2, 0, 0}, to_lds},
    {0x29, "load_lds_sshort", {0, 2, 0, 0}, to_lds},
    {0x2a, "load_lds_dword", {0, 2, 0, 0}, to_lds},
    {0x40, "atomic_swap", {1, 2, 1, 0}, atomic},
    {0x41, "atomic_cmpswap", {1, 2, 2, 0}, atomic},
    {0x42, "atomic_add", {1, 2, 1, 0}, atomic},
    {0x43, "atomic_sub", {1, 2, 1, 0}, atomic},
    {0x44, "atomic_smin", {1, 2, 1, 0}, atomic},
    {0x45, "atomic_umin", {1, 2, 1, 0}, atomic},
    {0x46, "atomic_smax", {1, 2, 1, 0}, atomic},
    {0x47, "atomic_umax", {1, 2, 1, 0}, atomic},
    {0x48, "atomic_and", {1, 2, 1, 0}, atomic},
    {0x49, "atomic_or", {1, 2, 1, 0}, atomic},
    {0x4a, "atomic_xor", {1, 2, 1, 0}, atomic},
    {0x4b, "atomic_inc", {1, 2, 1, 0}, atomic},
    {0x4c, "atomic_dec", {1, 2, 1, 0}, atomic},
    {0x4d, "atomic_add_f32", {1, 2, 1, 0}, by_mode | atomic},
    {0x4e, "atomic_pk_add_f16", {1, 2, 1, 0}, by_mode | atomic},
    {0x4f, "atomic_add_f64", {2, 2, 2, 0}, by_mode | atomic},
    {0x50, "atomic_min_f64", {2, 2, 2, 0}, by_mode | atomic},
    {0x51, "atomic_max_f64", {2, 2, 2, 0}, by_mode | atomic},
    {0x52, "atomic_pk_add_bf16", {1, 2, 1, 0}, by_mode | atomic},
    {0x60, "atomic_swap_x2", {2, 2, 2, 0}, atomic},
    {0x61, "atomic_cmpswap_x2", {2, 2, 4, 0}, atomic},
    {0x62, "atomic_add_x2", {2, 2, 2, 0}, atomic},
    {0x63, "atomic_sub_x2", {2, 2, 2, 0}, atomic},
    {0x64, "atomic_smin_x2", {2, 2, 2, 0}, atomic},
    {0x65, "atomic_umin_x2", {2, 2, 2, 0}, atomic},
    {0x66, "atomic_smax_x2", {2, 2, 2, 0}, atomic},
    {0x67, "atomic_umax_x2", {2, 2, 2, 0}, atomic},
    {0x68, "atomic_and_x2", {2, 2, 2, 0}, atomic},
    {0x69, "atomic_or_x2", {2, 2, 2, 0}, atomic},
    {0x6a, "atomic_xor_x2", {2, 2, 2, 0}, atomic},
    {0x6b, "atomic_inc_x2", {2, 2, 2, 0}, atomic},
    {0x6c, "atomic_dec_x2", {2, 2, 2, 0}, atomic},
    {0x7d, "load_lds_dwordx4", {0, 2, 0, 0}, to_lds | gfx950},
    {0x7e, "load_lds_dwordx3", {0, 2, 0, 0}, to_lds | gfx950},
};
static_assert(numbered_once(memory_table));

}  // namespace

std::span<const Row> memory_rows() {
  return memory_table;
}

}  // namespace mla::gfx
