#include "integer_ops.hpp"

KERNEL(256) integer(const u64* in, u64* out) {
  const u64 n = group() * 256 + thread();
  integer_ops(in[2 * n], in[2 * n + 1], (u32)(in[2 * n] >> 11 ^ in[2 * n + 1]),
              out + n * integer_results);
}

// The same for values that are the same in all lanes: scalar instructions.
KERNEL(64) integer_uniform(const u64* in, u64* out, u32 n) {
  u64 results[integer_results];
  integer_ops(in[2 * n], in[2 * n + 1], (u32)(in[2 * n] >> 11 ^ in[2 * n + 1]), results);
  if (thread() == 0) {
    for (int k = 0; k < integer_results; ++k) out[k] = results[k];
  }
}
