// WaveTraits: what the code of a stage-1 workgroup on AMD is made of (wave_tile.hpp).
//
// Constants only, derived from layout.hpp, and the LDS as a struct. QE, KE: elements of Q and of
// the cache; kLayout: index into kWaveLayouts. fp8 keys that meet a bf16 query become bf16.
#pragma once

#include "hip_backend/kernels/decode_traits.hpp"
#include "hip_backend/kernels/layout.hpp"
#include "hip_backend/kernels/numbers.hpp"
#include "hip_backend/kernels/wave_matrix.hpp"

namespace mla::hip {

template <bool kFirst, class A, class B>
struct ChosenLds {
  using Type = A;
};
template <class A, class B>
struct ChosenLds<false, A, B> {
  using Type = B;
};

template <class QE, class KE, int kLayout>
struct WaveTraits {
  using QueryElement = QE;
  using KeyElement = KE;
  using M = typename MatrixElement<QE, KE>::Type;
  static constexpr WaveLayout L = kWaveLayouts[kLayout];
  static constexpr int kThreads = L.threads;
  static constexpr int kRows = L.rows;
  static constexpr int kRowWaves = L.row_waves;
  static constexpr int kKeyWaves = L.key_waves;
  static constexpr int kRowBlocks = kRows / 16 / kRowWaves;
  static constexpr bool kConverts = sizeof(KE) != sizeof(M);
  static constexpr int kQueryBytes = 576 * kElementBytes<QE>;
  static constexpr int kKeyBytes = 576 * kElementBytes<KE>;
  static constexpr int kSteps = 576 * kElementBytes<M> / 64;
  static_assert(kThreads == kLanes * kRowWaves * kKeyWaves && sizeof(QE) == sizeof(M));

  // Where this lane's 16 bytes of a step are in a row of M. The two halves of 16 converted fp8 are
  // two steps.
  MLA_DEVICE_MEMBER static int step_bytes(int step) {
    const int group = tile::lane_group();
    return kConverts ? 128 * (step / 2) + 32 * group + 16 * (step % 2) : 64 * step + 16 * group;
  }

  // Every wave brings keys of its own: values go through its part of the LDS, 256 bytes of each at
  // a time.
  static constexpr bool kOwnKeys = kRowWaves == 1;
  static constexpr int kPassBytes = 256;
  static constexpr int kPasses = 512 * kElementBytes<M> / kPassBytes;
  static constexpr int kPassPitch = kPassBytes + 16;
  // All waves share the keys: in LDS they are whole.
  static constexpr int kPitch = key_pitch(kElementBytes<M>);
  static_assert(kPassPitch % 16 == 0 && kPitch % 16 == 0);  // accesses of 16 bytes
#if defined(__gfx950__)
  static constexpr int kBuffers = 2;
#else
  static constexpr int kBuffers = sizeof(M) == 1 ? 2 : 1;
#endif

  using Part = tile::Float4[kLanes];
  struct alignas(16) OwnLds {
    union {
      char values[kKeyWaves][wave::kKeys * kPassPitch];
      Part parts[kKeyWaves][wave::kBlocks];  // of the merge
    };
    float maximum[kKeyWaves][16];
    float sum[kKeyWaves][16];
  };
  struct alignas(16) SharedLds {
    char keys[kBuffers][wave::kKeys * kPitch];
  };
  using Lds = typename ChosenLds<kOwnKeys, OwnLds, SharedLds>::Type;
};

}  // namespace mla::hip
