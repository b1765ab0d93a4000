// Workgroups of different lengths, of which some go wrong: what a launch says of them must not
// depend on how many host threads run it.
#include "device.hpp"

// The first groups are long, so that later ones are through before them.
DEVICE inline u32 work() {
  u32 value = thread() + 1;
  for (u32 k = 0; k < (group() < 8 ? 4000 : 40); ++k) value = value * 1664525 + 1013904223;
  return value;
}

// A store far outside from the groups of `bad`, after their work.
KERNEL(64) faults_in_groups(u32* out, u64 bad, u64 far) {
  const u32 value = work();
  if ((bad >> group() & 1) != 0) out += far;
  out[group() * 64 + thread()] = value;
}

KERNEL(64) spins_in_groups(u32* out, u64 bad) {
  const u32 value = work();
  while ((bad >> group() & 1) != 0) __builtin_amdgcn_s_sleep(1);
  out[group() * 64 + thread()] = value;
}

// Waves write LDS and read what the other wrote, in the groups of `bad` without a barrier between.
KERNEL(128) races_in_groups(u32* out, u64 bad) {
  __shared__ u32 words[128];
  const u32 value = work();
  words[thread()] = value;
  if ((bad >> group() & 1) == 0) barrier();
  const u32 other = words[thread() ^ 64];
  barrier();
  if ((bad >> group() & 2) != 0) words[0] = thread();
  out[group() * 128 + thread()] = value + other;
}
