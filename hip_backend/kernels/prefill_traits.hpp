// PrefillTraits: what the code of a prefill workgroup is made of.
//
// Constants only, as decode_traits.hpp; E is the element of Q, K and V alike.
#pragma once

#include "hip_backend/kernels/decode_traits.hpp"

namespace mla::hip {

template <class E>
struct PrefillTraits {
  using QueryElement = E;
  using KeyElement = E;
  using M = typename MatrixElement<E, E>::Type;
  static constexpr DecodeLayout L = MLA_AMD ? kAmdPrefill : kNvidiaPrefill;
  static constexpr bool kFp8Weights = sizeof(E) == 1;
  static constexpr int kRows = L.rows;
  static constexpr int kKeys = L.keys;
  static constexpr int kThreads = L.threads;
  static constexpr int kWaves = kThreads / kLanes;
  static constexpr int kKeyDims = 192;
  static constexpr int kValueDims = 128;
  static constexpr int kPitch = kKeyDims * kElementBytes<M> + 16;
  static constexpr int kValuePitch = kValueDims * kElementBytes<M> + 16;
  static constexpr int kScorePitch = score_pitch(L);
  static_assert(kPitch % 16 == 0 && kValuePitch % 16 == 0 && kScorePitch % 16 == 0);
  static constexpr int kRowBlocks = kRows / 16 / L.row_waves;
  static constexpr int kKeyBlocks = kKeys / 16 / L.key_waves;
  static constexpr int kSteps = kKeyDims / tile::kDimStep;
  static constexpr int kRowThreads = kThreads / kRows;
  static constexpr int kThreadKeys = kKeys / kRowThreads;
  static constexpr int kColumnWaves = kValueDims / 64;
  static constexpr int kGroups = 1;
  static constexpr int kValueBlocks = kRows / 16 / (kWaves / kColumnWaves);
  static_assert(kWaves == L.row_waves * L.key_waves && L.dim_waves == 1);

  struct alignas(16) Lds {
    char keys[2][kKeys * kPitch];
    char values[2][kKeys * kValuePitch];
#if !MLA_AMD
    char q[kRows * (2 * kKeyDims + 16)];
#else
    static constexpr char* q = nullptr;
#endif
    char scores[1][kRows * kScorePitch];
    float factor[kRows];
    int rows[2][kKeys];
  };
  static_assert(sizeof(Lds) == prefill_lds_bytes(L, kElementBytes<M>, !MLA_AMD));
};

}  // namespace mla::hip
