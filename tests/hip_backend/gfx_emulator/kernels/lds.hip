// LDS: exchange between waves, narrow accesses, dynamic allocation, flat pointers, atomics.
#include "device.hpp"

KERNEL(256) reverse(const u32* in, u32* out) {
  __shared__ u32 values[256];
  const u32 base = group() * 256;
  values[thread()] = in[base + thread()];
  barrier();
  out[base + thread()] = values[255 - thread()];
}

// An inclusive sum over the workgroup.
KERNEL(256) scan(const u32* in, u32* out) {
  __shared__ u32 values[2][256];
  u32 from = 0;
  values[0][thread()] = in[thread()];
  barrier();
  for (u32 step = 1; step < 256; step *= 2) {
    u32 sum = values[from][thread()];
    if (thread() >= step) sum += values[from][thread() - step];
    values[1 - from][thread()] = sum;
    from = 1 - from;
    barrier();
  }
  out[thread()] = values[from][thread()];
}

KERNEL(64) narrow(const u32* in, u32* out) {
  __shared__ u8 bytes[256];
  __shared__ u16 shorts[128];
  __shared__ u64 longs[64];
  bytes[thread() * 4 + 1] = (u8)in[thread()];
  shorts[127 - thread() * 2] = (u16)in[thread()];
  longs[63 - thread()] = (u64)in[thread()] << 20;
  barrier();
  out[thread() * 3] = bytes[(63 - thread()) * 4 + 1] + (u32)(i8)bytes[thread() * 4 + 1];
  out[thread() * 3 + 1] = shorts[thread() * 2 + 1] + (u32)(i16)shorts[127 - thread() * 2];
  out[thread() * 3 + 2] = (u32)(longs[thread()] >> 10);
}

extern __shared__ u32 dynamic[];
KERNEL(64) dynamic_size(u32* out, u32 count) {
  for (u32 k = thread(); k < count; k += 64) dynamic[k] = k * k;
  barrier();
  u32 sum = 0;
  for (u32 k = thread(); k < count; k += 64) sum += dynamic[count - 1 - k];
  out[thread()] = sum;
}

DEVICE __attribute__((noinline)) void add_to(u32* where, u32 value) {
  *where += value;
}

// A pointer that may lead to LDS, to scratch or to global memory.
KERNEL(64) generic(u32* out) {
  __shared__ u32 shared[64];
  u32 own = thread();
  shared[thread()] = 100 + thread();
  out[thread()] = 1000;
  barrier();
  u32* const places[3] = {&shared[thread()], &own, &out[thread()]};
  for (u32 k = 0; k < 3; ++k) add_to(places[(k + thread()) % 3], k + 1);
  barrier();
  out[thread()] += shared[thread()] + own;
}

KERNEL(256) lds_atomics(u32* out) {
  __shared__ u32 sum, largest, bits, exchanged;
  __shared__ u64 wide;
  __shared__ float real;
  if (thread() == 0) sum = largest = bits = exchanged = 0, wide = 0, real = 0;
  barrier();
  __hip_atomic_fetch_add(&sum, thread(), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_max(&largest, thread() * 7 % 251, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_or(&bits, 1u << thread() % 32, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(&wide, (u64)thread() << 30, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(&real, 0.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  u32 expected = 0;
  __hip_atomic_compare_exchange_strong(&exchanged, &expected, thread() + 1, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (thread() == 0) {
    out[0] = sum;
    out[1] = largest;
    out[2] = bits;
    out[3] = (u32)(wide >> 30);
    out[4] = __builtin_bit_cast(u32, real);
    out[5] = exchanged != 0;
  }
}

// Each lane reads `stride` bytes after the lane before.
#define READS(width, ...)                                                                   \
  KERNEL(64) reads_##width(u32 stride) {                                                    \
    __shared__ u32 values[64 * 32 + 4];                                                     \
    __VA_ARGS__ value;                                                                      \
    asm volatile(                                                                           \
        "ds_read_" #width " %0, %1\n s_waitcnt lgkmcnt(0)"                                  \
        : "=v"(value)                                                                       \
        : "v"((u32)(u64)(__attribute__((address_space(3))) u32*)values + thread() * stride) \
        : "memory");                                                                        \
  }
READS(b32, u32)
READS(b64, u64)
READS(b96, __attribute__((ext_vector_type(3))) u32)
READS(b128, __attribute__((ext_vector_type(4))) u32)
