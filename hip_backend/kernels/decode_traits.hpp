// DecodeTraits: what the code of a stage-1 workgroup on NVIDIA is made of (tile_decode.hpp).
//
// Constants only, derived from layout.hpp and tile.hpp, and the LDS as a struct.
#pragma once

#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/layout.hpp"
#include "hip_backend/kernels/numbers.hpp"
#include "hip_backend/kernels/tile.hpp"

namespace mla::hip {

// The element of the matrix operands. AMD multiplies fp8 by fp8; everything else is bf16.
template <class QE, class KE>
struct MatrixElement {
  using Type = Bf16;
};
#if MLA_AMD
template <>
struct MatrixElement<Fp8, Fp8> {
  using Type = Fp8;
};
#endif

// QE, KE: elements of Q and of the cache. kLayout: index into kNvidiaLayouts.
template <class QE, class KE, int kLayout>
struct DecodeTraits {
  using QueryElement = QE;
  using KeyElement = KE;
  using M = typename MatrixElement<QE, KE>::Type;
  static constexpr DecodeLayout L = kNvidiaLayouts[kLayout];
  static constexpr bool kFp8Weights = sizeof(QE) == 1 && sizeof(KE) == 1;
  static constexpr int kRows = L.rows;
  static constexpr int kKeys = L.keys;
  static constexpr int kThreads = L.threads;
  static constexpr int kWaves = kThreads / kLanes;
  static constexpr int kPitch = key_pitch(kElementBytes<M>);
  static constexpr int kKeyDims = 576;
  static constexpr int kValueDims = 512;
  static constexpr int kValuePitch = kPitch;  // a value is the beginning of its key
  static constexpr int kScorePitch = score_pitch(L);
  // Scores: blocks and steps of a wave.
  static constexpr int kRowBlocks = kRows / 16 / L.row_waves;
  static constexpr int kKeyBlocks = kKeys / 16 / L.key_waves;
  static constexpr int kSteps = 576 / tile::kDimStep / L.dim_waves;
  // Softmax: threads of a row, keys of a thread.
  static constexpr int kRowThreads = kThreads / kRows;
  static constexpr int kThreadKeys = kKeys / kRowThreads;
  // Values: waves that share the columns, groups of 64 columns of each, 16-row blocks of each.
  static constexpr int kColumnWaves = kWaves < 8 ? kWaves : 8;
  static constexpr int kGroups = 8 / kColumnWaves;
  static constexpr int kValueBlocks = kRows / 16 / (kWaves / kColumnWaves);
  static_assert(kWaves == L.row_waves * L.key_waves * L.dim_waves);
  static_assert(kThreadKeys % 2 == 0 && kRowThreads <= kLanes && kKeys <= kThreads);

  struct alignas(16) Lds {
    char keys[2][kKeys * kPitch];
    char q[kRows * key_pitch(2)];
    char scores[L.dim_waves][kRows * kScorePitch];
    float factor[kRows];
    int rows[2][kKeys];
  };
  static_assert(sizeof(Lds) == nvidia_decode_lds_bytes(L));
};

}  // namespace mla::hip
