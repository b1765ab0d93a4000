#include "families.hpp"

namespace gfx_test {
namespace {

constexpr Family families[] = {
    {"SOP1, SOP2, SOPK and SOPC", sop_vectors},
    {"relative moves of scalars", relative_vectors},
    {"VOP1", vop1_vectors},
    {"VOP2", vop2_vectors},
    {"VOP3: integers", vop3_integer_vectors},
    {"VOP3: floating point", vop3_float_vectors},
    {"VOPC", vopc_vectors},
    {"carries, selections and division steps", mask_vectors},
    {"packed operations", packed_vectors},
    {"cube maps, quads of bytes, normalised numbers", graphics_vectors},
    {"dot products and mixed multiply-adds", dot_vectors},
    {"operations between lanes", lane_vectors},
    {"SDWA and DPP", extended_vectors},
    {"DS", ds_vectors},
    {"DS exchanges", ds_exchange_vectors},
    {"DS between lanes", ds_lane_vectors},
    {"FLAT, GLOBAL and MUBUF", vmem_vectors},
    {"atomics of memory", vmem_atomic_vectors},
    {"SCRATCH", scratch_vectors},
    {"loads to LDS", to_lds_vectors},
    {"SMEM", smem_vectors},
    {"matrix instructions", matrix_vectors},
    {"sparse matrix instructions", sparse_vectors},
    {"branches, jumps and modes", flow_vectors},
    {"rounding and denormals", mode_vectors},
    {"rounding of f16", half_mode_vectors},
    {"rounding of f64", double_mode_vectors},
    {"overflows of f16", overflow_vectors},
};

}  // namespace

std::span<const Family> all_families() {
  return families;
}

}  // namespace gfx_test
