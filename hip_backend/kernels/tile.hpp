// The tile layer: what a wave does with pieces of matrices, the same words for MFMA and mma.sync.
//
// Includes one of two files that define, in namespace mla::hip::tile:
//
//   kDimStep            dims of one matrix step of the scores
//   kKeyStep            keys of one matrix step of the values
//   Fragment<E>         a lane's part of 16 rows (or keys) by one step, element type E
//   load_fragment<E>    from row-major LDS
//   Query<E,...>        the rows of Q, in registers (MFMA) or in LDS (mma.sync)
//   Block               16 x 16 sums in f32; multiply_add(Block, Fragment a, Fragment b):
//                       row i of a times row j of b (both run along the contracted dims)
//   block_row, block_col    where a lane's element i of a Block belongs
//   Values<E>           a lane's part of kKeyStep keys by 64 columns; load_values<E> transposes
//   Group               16 x 64 sums in f32; multiply_add(Group, Fragment p, Values)
//   scale_rows, held_row, run_of    a Group by rows, and as runs of adjacent columns
//
// A matrix row in LDS is `pitch` bytes long, a multiple of 16 that is an odd number of 16-byte
// units modulo the banks, so that 16 rows read side by side do not collide. Which lane holds which
// index of the contracted dimension is a matter of each file, as long as both operands agree.
// Sources: AMD Instinct MI300 ISA, matrix core operand layouts; PTX ISA, mma.m16n8k16 and ldmatrix.
#pragma once

#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/numbers.hpp"

#if MLA_AMD
#include "hip_backend/kernels/tile_amd.hpp"
#else
#include "hip_backend/kernels/tile_nvidia.hpp"
#endif
