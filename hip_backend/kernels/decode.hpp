// Stage 1 of MLA decode: attention of packed query rows over one piece of a paged latent cache.
//
// One text for gfx942, gfx950 and sm_90. A workgroup takes a block of packed rows of a piece and
// walks over its keys tile by tile; how it does that is Worker's affair: a wave for itself on AMD
// (wave_decode.hpp), all together through LDS on NVIDIA (tile_decode.hpp). A key is 576 elements,
// of which the first 512 are also its value. Writes normalised f32 partials and their natural-log
// LSE, or the output in bf16 when the piece is the whole of its rows. A row without a visible key
// gets 0 and -inf.
#pragma once

#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/piece.hpp"

namespace mla::hip {

// Works of a slot, or the one split, in one loop: its body is long, and there is one copy of it.
template <class Worker, int kRows, class Lds>
MLA_DEVICE void decode(const DecodeArguments& a, Lds& lds) {
  const bool split = a.splits > 0;
  if ((split ? a.skip : a.skip_slot)[group_x()] != 0) return;
  int work = 0;
  int end = 1;
  if (!split) {
    const int* work_indptr = global_at<int>(a.work_meta_data[0]);
    work = work_indptr[group_x()];
    end = work_indptr[group_x() + 1];
  }
  for (; work < end; ++work) {
    if (!split && a.skip[work] != 0) continue;
    const Piece piece = split ? piece_of_split(a, group_x() / a.splits, group_x() % a.splits)
                              : piece_of_work(a, work);
    const int packed = (piece.q_end - piece.q_begin) * a.heads;
    for (int first = group_y() * kRows; first < packed; first += a.row_groups * kRows)
      Worker(a, piece, first, lds).run();
  }
}

}  // namespace mla::hip
