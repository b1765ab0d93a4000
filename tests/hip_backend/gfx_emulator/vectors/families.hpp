// The tables of vectors, a family each. Together they cover every operation that executes.
#pragma once

#include <span>

#include "vector.hpp"

namespace gfx_test {

[[nodiscard]] Vectors dot_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors double_mode_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors ds_exchange_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors ds_lane_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors ds_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors extended_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors flow_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors graphics_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors half_mode_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors lane_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors mask_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors matrix_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors mode_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors overflow_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors packed_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors relative_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors scaled_vectors(mla::gfx::Arch arch);       // part of vop3_float_vectors()
[[nodiscard]] Vectors scaled_wide_vectors(mla::gfx::Arch arch);  // likewise
[[nodiscard]] Vectors scratch_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors smem_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors sop_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors sparse_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors to_lds_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors vmem_atomic_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors vmem_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors vop1_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors vop2_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors vop3_float_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors vop3_integer_vectors(mla::gfx::Arch arch);
[[nodiscard]] Vectors vopc_vectors(mla::gfx::Arch arch);

struct Family {
  const char* name;
  Vectors (*vectors)(mla::gfx::Arch arch);
};
[[nodiscard]] std::span<const Family> all_families();

}  // namespace gfx_test
