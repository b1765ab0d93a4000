// WaveDecode: stage 1 on AMD, over the keys of one block of rows.
//
// Two ways of bringing keys. Where 16 rows are all there are, every wave takes every fourth tile
// (OwnKeys): it loads its keys as the matrix instructions need them, and only values go through
// LDS, a part of the columns at a time, so that no wave waits for another before the end. More rows
// share a tile in LDS (SharedKeys). In both the next tile is loaded into registers meanwhile.
#pragma once

#include "hip_backend/kernels/decode_block.hpp"
#include "hip_backend/kernels/wave_tile.hpp"
#include "hip_backend/kernels/wave_traits.hpp"

namespace mla::hip {

// As vectors, not as structs: an array of structs that is copied stays in scratch memory.
MLA_DEVICE Bytes16 load_bytes(const char* at) {
  return {reinterpret_cast<const Bytes16*>(at)->w};
}
MLA_DEVICE void store_bytes(char* to, const Bytes16& bytes) {
  reinterpret_cast<Bytes16*>(to)->w = bytes.w;
}

// A tile of 32 keys in the registers of a wave: key n and key 16 + n are those of lane row n.
template <class T>
class OwnKeys {
  static constexpr int kLoads = T::kKeyBytes / 64;
  static constexpr int kPassSteps = T::kPassBytes / 64;

 public:
  static constexpr int kPassLoads = kPassSteps / (T::kConverts ? 2 : 1);

  // Loads those of the 64-byte pieces of each key that pass `pass` stores; the last one takes what
  // is left.
  MLA_DEVICE_MEMBER void fetch(const char* const (&key)[2], int pass) {
    const int end = pass == T::kPasses - 1 ? kLoads : kPassLoads * (pass + 1);
    MLA_UNROLL
    for (int b = 0; b < 2; ++b) {
      MLA_UNROLL
      for (int i = kPassLoads * pass; i < end; ++i) held_[b][i].w = load_bytes(key[b] + 64 * i).w;
    }
  }
  MLA_DEVICE_MEMBER Bytes16 step(int b, int s, Fp8Code code) const {
    if constexpr (!T::kConverts) return held_[b][s];
    // Fresh, or what was converted for the scores stays in registers for the values.
    const auto word = [&](int i) {
      return static_cast<u32>(fresh(static_cast<int>(held_[b][s / 2].w[2 * (s % 2) + i])));
    };
    const Bytes8 low = bf16_of_fp8(word(0), code);
    const Bytes8 high = bf16_of_fp8(word(1), code);
    return {{low.w[0], low.w[1], high.w[0], high.w[1]}};
  }
  MLA_DEVICE_MEMBER void store(char* values, int pass, Fp8Code code) const {
    MLA_UNROLL
    for (int b = 0; b < 2; ++b) {
      MLA_UNROLL
      for (int s = 0; s < kPassSteps; ++s)
        store_bytes(values + (16 * b + tile::lane_row()) * T::kPassPitch + T::step_bytes(s),
                    step(b, kPassSteps * pass + s, code));
    }
  }

 private:
  Bytes16 held_[2][kLoads];
};

// A tile of 32 keys on its way to LDS: a thread's part of one of them.
template <class T>
class SharedKeys {
  static constexpr int kKeyThreads = T::kThreads / wave::kKeys;
  static constexpr int kParts = T::kKeyBytes / 16;
  static constexpr int kHeld = (kParts + kKeyThreads - 1) / kKeyThreads;

 public:
  MLA_DEVICE_MEMBER static int key() { return thread_id() / kKeyThreads; }
  MLA_DEVICE_MEMBER void fetch(const char* key) {
    MLA_UNROLL
    for (int i = 0; i < kHeld; ++i)
      if (exists(i)) held_[i].w = load_bytes(key + 16 * (first() + kKeyThreads * i)).w;
  }
  MLA_DEVICE_MEMBER void store(char* keys, Fp8Code code) const {
    char* to = keys + key() * T::kPitch;
    MLA_UNROLL
    for (int i = 0; i < kHeld; ++i) {
      if (!exists(i)) continue;
      const int part = first() + kKeyThreads * i;
      if constexpr (T::kConverts) {
        store_as_bf16<typename T::KeyElement>(to + 32 * part, held_[i], code);
      } else {
        store_bytes(to + 16 * part, held_[i]);
      }
    }
  }

 private:
  MLA_DEVICE_MEMBER static int first() { return thread_id() % kKeyThreads; }
  MLA_DEVICE_MEMBER static bool exists(int i) {
    return kParts % kKeyThreads == 0 || i < kHeld - 1 || first() < kParts % kKeyThreads;
  }

  Bytes16 held_[kHeld];
};

template <class T>
class WaveDecode {
  using M = typename T::M;
  using Place = DecodeBlock::Place;

 public:
  MLA_DEVICE_MEMBER WaveDecode(const DecodeArguments& a, const Piece& piece, int first,
                               typename T::Lds& lds)
      : block_(a, piece, first, T::kRows), lds_(lds), tile_(a.score_scale) {}

  MLA_DEVICE_MEMBER void run() {
    tile_.load_query(block_.query(T::kQueryBytes), T::kQueryBytes, block_.count());
    MLA_UNROLL
    for (int r = 0; r < T::kRowBlocks; ++r) tile_.set_visible(r, block_.visible_of(tile_.row(r)));
    if constexpr (T::kOwnKeys) {
      attend_own();
    } else {
      attend_shared();
    }
    tile_.finish(lds_, block_);
  }

 private:
  MLA_DEVICE_MEMBER void attend_own() {
    constexpr int kApart = wave::kKeys * T::kKeyWaves;  // from a wave's tile to its next one
    constexpr int kGroups = 4 / T::kPasses;
    const Fp8Code code = block_.code();
    const int most = block_.most();
    int base = wave::kKeys * tile_.key_wave();
    if (base >= most) return;
    char* values = lds_.values[tile_.key_wave()];
    OwnKeys<T> keys;
    Place next[2];
    find(base, next);
    const char* key[2];
    point(next, key);
    MLA_UNROLL
    for (int pass = 0; pass < T::kPasses; ++pass) keys.fetch(key, pass);
    find(base + kApart, next);
    for (; base < most; base += kApart) {
      const bool more = base + kApart < most;
      point(next, key);
      find(base + 2 * kApart, next);
      block_.sleep(base);
      tile_.multiply_keys([&](int b, int s) { return keys.step(b, s, code); });
      const bool all_visible = base + wave::kKeys <= block_.fewest();
      tile_.soften(base, all_visible);
      block_.sleep(base + 1);
      MLA_UNROLL
      for (int pass = 0; pass < T::kPasses; ++pass) {
        wave_barrier();  // the values of the last pass have been read
        keys.store(values, pass, code);
        if (more) keys.fetch(key, pass);
        wave_barrier();
        if (!all_visible)
          clean_values<T::kPassBytes>(values, T::kPassPitch, base, lane_id(), kLanes);
        wave_barrier();
        tile_.multiply_values(values, T::kPassPitch, kGroups * pass, kGroups);
      }
    }
  }

  MLA_DEVICE_MEMBER void attend_shared() {
    constexpr int kValueBytes = 512 * kElementBytes<M>;
    const int most = block_.most();
    const bool active = tile_.row_wave() * 16 * T::kRowBlocks < block_.count();
    barrier();  // the block before this one is done with the LDS
    if (most <= 0) return;
    SharedKeys<T> keys;
    keys.fetch(block_.key_at(block_.place_of_key(keys.key()), T::kKeyBytes));
    Place next = block_.place_of_key(wave::kKeys + keys.key());
    for (int base = 0; base < most; base += wave::kKeys) {
      char* tile = lds_.keys[base / wave::kKeys % T::kBuffers];
      block_.sleep(base);
      keys.store(tile, block_.code());
      barrier();  // this tile is in LDS
      if (base + wave::kKeys < most) keys.fetch(block_.key_at(next, T::kKeyBytes));
      next = block_.place_of_key(base + 2 * wave::kKeys + keys.key());
      const bool all_visible = base + wave::kKeys <= block_.fewest();
      if (active) {
        tile_.multiply_keys([&](int b, int s) {
          return load_bytes(tile + (16 * b + tile::lane_row()) * T::kPitch + T::step_bytes(s));
        });
        tile_.soften(base, all_visible);
      }
      block_.sleep(base + 1);
      if (!all_visible) {
        barrier();  // every wave has multiplied the keys as they are
        clean_values<kValueBytes>(tile, T::kPitch, base, thread_id(), T::kThreads);
        barrier();
      }
      if (active) tile_.multiply_values(tile, T::kPitch, 0, 4);
      if constexpr (T::kBuffers == 1) barrier();  // before the next tile takes this one's place
    }
  }

  // The places of this lane's two keys of the wave's tile that begins with key `base`.
  MLA_DEVICE_MEMBER void find(int base, Place (&place)[2]) const {
    MLA_UNROLL
    for (int b = 0; b < 2; ++b) place[b] = block_.place_of_key(base + 16 * b + tile::lane_row());
  }
  MLA_DEVICE_MEMBER void point(const Place (&place)[2], const char* (&key)[2]) const {
    MLA_UNROLL
    for (int b = 0; b < 2; ++b)
      key[b] = block_.key_at(place[b], T::kKeyBytes) + 16 * tile::lane_group();
  }

  // Values of keys that not all rows see meet probabilities of 0, and 0 times NaN or infinity would
  // be NaN. Nothing is left of those that no row sees, and the finite part of the others: a row
  // that does see such a key has a NaN probability already.
  template <int kBytes>
  MLA_DEVICE_MEMBER void clean_values(char* values, int pitch, int base, int thread,
                                      int threads) const {
    constexpr int kWords = kBytes / 4;
    const int from = max_of(block_.fewest() - base, 0);
    for (int i = from * kWords + thread; i < wave::kKeys * kWords; i += threads) {
      u32* word = reinterpret_cast<u32*>(values + i / kWords * pitch) + i % kWords;
      *word = base + i / kWords < block_.most() ? finite_part<M>(*word) : 0U;
    }
  }

  DecodeBlock block_;
  typename T::Lds& lds_;
  WaveTile<T> tile_;
};

}  // namespace mla::hip
