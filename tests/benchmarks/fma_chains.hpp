// One round of fused multiply-adds, compiled once for each instruction set like a data path.
#pragma once

#include <cstdint>

namespace mla::bench {

struct FmaChains {
  std::int64_t flop_per_round;
  // Runs `rounds` rounds and returns a value that depends on all of them.
  float (*run)(std::int64_t rounds);
};

FmaChains portable_chains();
FmaChains avx2_chains();
FmaChains avx512_chains();
FmaChains avx512_bf16_chains();  // vdpbf16ps

}  // namespace mla::bench
