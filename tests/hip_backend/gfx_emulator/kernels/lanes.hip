// Exchange between the lanes of a wave.
#include "device.hpp"

#define DPP(row, ctrl) \
  out[(row) * 64 + thread()] = (u32)__builtin_amdgcn_update_dpp(1000, (int)a, ctrl, 0xf, 0xf, false)

KERNEL(64) dpp(const u32* in, u32* out) {
  const u32 a = in[thread()];
  DPP(0, 0x1b);    // quad_perm 3,2,1,0
  DPP(1, 0x101);   // row_shl 1
  DPP(2, 0x113);   // row_shr 3
  DPP(3, 0x125);   // row_ror 5
  DPP(4, 0x140);   // row_mirror
  DPP(5, 0x141);   // row_half_mirror
  DPP(6, 0x142);   // row_bcast 15
  DPP(7, 0x143);   // row_bcast 31
  DPP(8, 0x130);   // wave_shl 1
  DPP(9, 0x138);   // wave_shr 1
  DPP(10, 0x157);  // row_newbcast 7
  out[11 * 64 + thread()] = (u32)__builtin_amdgcn_update_dpp(1000, (int)a, 0x101, 0x5, 0x3, true);
}

KERNEL(64) shuffles(const u32* in, u32* out) {
  const u32 a = in[thread()];
  out[thread()] = (u32)__builtin_amdgcn_ds_bpermute((int)(thread() * 5 % 64) * 4, (int)a);
  out[64 + thread()] = (u32)__builtin_amdgcn_ds_permute((int)(thread() * 5 % 64) * 4, (int)a);
  out[128 + thread()] = (u32)__builtin_amdgcn_ds_swizzle((int)a, 0x041f);
  out[192 + thread()] = (u32)__builtin_amdgcn_ds_swizzle((int)a, 0x80b1);
  out[256 + thread()] = (u32)__builtin_amdgcn_readlane((int)a, 17);
  out[320 + thread()] = (u32)__builtin_amdgcn_readfirstlane((int)a);
  const u64 votes = __builtin_amdgcn_ballot_w64(a % 3 == 0);
  out[384 + thread()] = (u32)votes;
  out[448 + thread()] = (u32)(votes >> 32);
  out[512 + thread()] =
      __builtin_amdgcn_mbcnt_hi((u32)(votes >> 32), __builtin_amdgcn_mbcnt_lo((u32)votes, 0));
  u32 sum = a;
  for (int step = 32; step > 0; step /= 2) {
    sum += (u32)__builtin_amdgcn_ds_bpermute((int)(thread() ^ (u32)step) * 4, (int)sum);
  }
  out[576 + thread()] = sum;
}

// Lanes that are switched off take no part.
KERNEL(64) partial(const u32* in, u32* out) {
  out[thread()] = 7;
  if (in[thread()] % 2 == 1) {
    out[thread()] = (u32)__builtin_amdgcn_readfirstlane((int)in[thread()]) +
                    (u32)__builtin_popcountll(__builtin_amdgcn_ballot_w64(true)) * 1000;
  }
}

#if defined(__gfx950__)
using pair = u32 __attribute__((ext_vector_type(2)));
KERNEL(64) swaps(const u32* in, u32* out) {
  const u32 a = in[thread()], b = in[64 + thread()];
  const auto x = __builtin_amdgcn_permlane16_swap(a, b, false, false);
  out[thread()] = x[0];
  out[64 + thread()] = x[1];
  const auto y = __builtin_amdgcn_permlane32_swap(a, b, false, false);
  out[128 + thread()] = y[0];
  out[192 + thread()] = y[1];
}
#endif
