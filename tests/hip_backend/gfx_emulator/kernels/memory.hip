// Buffers with bounds, loads to LDS, transposing reads, narrow accesses.
#include "device.hpp"

#define LDS __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))
using v4 = u32 __attribute__((ext_vector_type(4)));
using s4 = i16 __attribute__((ext_vector_type(4)));
using i2 = int __attribute__((ext_vector_type(2)));

// A buffer of `size` bytes: what lies past it reads as zero and is not written.
KERNEL(64) buffers(u32* data, u32 size, u32* out) {
  const auto buffer = __builtin_amdgcn_make_buffer_rsrc(data, 0, (int)size, 0x27000);
  const int at = (int)thread() * 16;
  const v4 four = __builtin_bit_cast(v4, __builtin_amdgcn_raw_buffer_load_b128(buffer, at, 8, 0));
  for (int k = 0; k < 4; ++k) out[thread() * 8 + k] = four[k];
  out[thread() * 8 + 4] = (u32)__builtin_amdgcn_raw_buffer_load_b32(buffer, at, 0, 0);
  out[thread() * 8 + 5] = (u8)__builtin_amdgcn_raw_buffer_load_b8(buffer, at + 1, 0, 0);
  out[thread() * 8 + 6] = (u16)__builtin_amdgcn_raw_buffer_load_b16(buffer, at + 2, 0, 0);
  out[thread() * 8 + 7] = 0;
  __builtin_amdgcn_raw_buffer_store_b32(7 * thread(), buffer, at + 4, 0, 0);
}

// A descriptor of any stride and flags.
KERNEL(64) buffer_described(u32* data, u32 stride, u32 flags, u32* out) {
  const auto buffer = __builtin_amdgcn_make_buffer_rsrc(data, (i16)stride, 4096, (int)flags);
  out[thread()] = (u32)__builtin_amdgcn_raw_buffer_load_b32(buffer, (int)thread() * 4, 0, 0);
}

// Each lane's dword goes straight to LDS, in the order of the lanes.
KERNEL(64) direct_to_lds(u32* in, u32* out) {
  __shared__ u32 values[64];
  __builtin_amdgcn_global_load_lds((GLOBAL void*)(in + (thread() * 7 % 64)), (LDS void*)values, 4,
                                   0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  out[thread()] = values[63 - thread()];
}

#if defined(__gfx950__)
KERNEL(64) wide_to_lds(v4* in, v4* out) {
  __shared__ v4 values[64];
  __builtin_amdgcn_global_load_lds((GLOBAL void*)(in + (thread() * 5 % 64)), (LDS void*)values, 16,
                                   0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  out[thread()] = values[63 - thread()];
}

KERNEL(64) transposed(const u32* in, u32* out) {
  __shared__ u32 values[128];
  values[thread()] = in[thread()];
  values[64 + thread()] = in[64 + thread()];
  barrier();
  const auto shorts = __builtin_amdgcn_ds_read_tr16_b64_v4i16((LDS s4*)(values + 2 * thread()));
  const auto bytes = __builtin_amdgcn_ds_read_tr8_b64_v2i32((LDS i2*)(values + 2 * thread()));
  const i2 pair = __builtin_bit_cast(i2, shorts);
  out[4 * thread()] = (u32)pair[0];
  out[4 * thread() + 1] = (u32)pair[1];
  out[4 * thread() + 2] = (u32)bytes[0];
  out[4 * thread() + 3] = (u32)bytes[1];
}
#endif

struct Narrow {
  u8 a;
  i8 b;
  u16 c;
  i16 d;
  u16 e;
};

KERNEL(64) narrow_global(const Narrow* in, Narrow* out, i64* sums) {
  const Narrow x = in[thread()];
  out[thread()] = {(u8)(x.a + 1), (i8)(x.b - 1), (u16)(x.c * 3), (i16)(x.d >> 1), (u16)~x.e};
  sums[thread()] = (i64)x.a + x.b + x.c + x.d + x.e;
}

// Halves of registers: two 16-bit loads into one.
using h2 = _Float16 __attribute__((ext_vector_type(2)));
KERNEL(64) halves(const _Float16* in, h2* out) {
  h2 pair;
  pair.x = in[thread() * 2];
  pair.y = in[127 - thread() * 2];
  out[thread()] = pair;
}
