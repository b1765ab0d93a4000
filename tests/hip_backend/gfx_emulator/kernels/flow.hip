// Divergent control flow, calls, scratch memory and recursion.
#include "device.hpp"

KERNEL(256) collatz(const u32* in, u32* out) {
  const u32 n = group() * 256 + thread();
  u32 value = in[n], steps = 0;
  while (value != 1) {
    if (value % 2 == 0) {
      value /= 2;
    } else {
      value = 3 * value + 1;
    }
    ++steps;
  }
  out[n] = steps;
}

DEVICE __attribute__((noinline)) u32 fibonacci(u32 n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

KERNEL(64) recursive(u32* out) {
  out[thread()] = fibonacci(thread() % 9);
}

DEVICE __attribute__((noinline)) u32 choose(u32 kind, u32 a) {
  switch (kind) {
    case 0:
      return a + 1;
    case 1:
      return a * 3;
    case 2:
      return a ^ 0x55;
    case 3:
      return a >> 2;
    case 4:
      return a - 7;
    case 5:
      return ~a;
    default:
      return a;
  }
}

// A private array whose index the compiler does not know.
KERNEL(64) sorted(const u32* in, u32* out) {
  u32 values[16];
  for (u32 k = 0; k < 16; ++k) values[k] = choose(in[thread() * 16 + k] % 7, in[thread() * 16 + k]);
  for (u32 k = 1; k < 16; ++k) {
    for (u32 j = k; j > 0 && values[j - 1] > values[j]; --j) {
      const u32 other = values[j];
      values[j] = values[j - 1];
      values[j - 1] = other;
    }
  }
  for (u32 k = 0; k < 16; ++k) out[thread() * 16 + k] = values[(k * in[0]) % 16];
}

using function = u32 (*)(u32);
DEVICE __attribute__((noinline)) u32 twice(u32 a) {
  return 2 * a;
}
DEVICE __attribute__((noinline)) u32 square(u32 a) {
  return a * a;
}
DEVICE u32 counter = 5;
__attribute__((device)) __attribute__((constant)) const u32 table[4] = {11, 22, 33, 44};

// Calls through pointers, a table in constant memory, a global variable, and the block's size.
KERNEL(256) pointers(u32* out) {
  const function functions[2] = {twice, square};
  const u32 n = group() * __builtin_amdgcn_workgroup_size_x() + thread();
  out[n] = functions[n % 2](n) + table[n % 4] + counter;
}

KERNEL(512) ids(u32* out) {
  const u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
  const u32 z = __builtin_amdgcn_workitem_id_z();
  const u32 sx = __builtin_amdgcn_workgroup_size_x(), sy = __builtin_amdgcn_workgroup_size_y();
  const u32 sz = __builtin_amdgcn_workgroup_size_z();
  const u32 gx = __builtin_amdgcn_workgroup_id_x(), gy = __builtin_amdgcn_workgroup_id_y();
  const u32 gz = __builtin_amdgcn_workgroup_id_z();
  const u32 inside = x + sx * (y + sy * z), size = sx * sy * sz;
  const u32 grid_x = __builtin_amdgcn_grid_size_x() / sx,
            grid_y = __builtin_amdgcn_grid_size_y() / sy;
  out[(gx + grid_x * (gy + grid_y * gz)) * size + inside] =
      x | y << 4 | z << 8 | gx << 12 | gy << 16 | gz << 20;
}

// What a workgroup finds in registers and LDS that it has not written; then it writes them, and
// runs on for so many turns.
KERNEL(64) left_behind(u32* out, u32 turns) {
  __shared__ volatile u32 values[64];
  u32 vector, accumulator;
  asm volatile(
      "v_mov_b32 %0, v77\n v_accvgpr_read_b32 %1, a9\n"
      "v_mov_b32 v77, 1\n v_accvgpr_write_b32 a9, 1"
      : "=&v"(vector), "=&v"(accumulator)
      :
      : "v77", "a9");
  u32* const at = out + 192 * group() + thread();
  at[0] = vector;
  at[64] = accumulator;
  at[128] = values[thread()];
  values[thread()] = 1;
  for (u32 n = 0; n < turns; ++n) asm volatile("s_nop 0");
}
