// The ceiling that a decode is measured against: fused multiply-adds on registers, nothing else.
#pragma once

namespace mla::bench {

// GFLOP/s of `threads` threads that run independent chains of f32 multiply-adds in the widest
// vectors that the CPU backend would use here. Takes about 0.3 s; the best of several runs.
double fma_peak(int threads);

}  // namespace mla::bench
