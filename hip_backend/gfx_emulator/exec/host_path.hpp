// Owns: which instructions of the host execute vector operations.
#pragma once

#include <cstdint>

namespace mla::gfx {

// The same text compiled for the baseline of the host and for AVX2 with FMA and F16C. avx512_bf16
// is avx2 with some matrix products by vdpbf16ps, and with 2^x and multiply-adds of f16 pairs of
// sixteen at a time. All have the same results.
enum class HostPath : std::uint8_t { portable, avx2, avx512_bf16 };
constexpr HostPath every_host_path[] = {HostPath::portable, HostPath::avx2, HostPath::avx512_bf16};

// Whether this machine can execute it.
[[nodiscard]] bool has_host_path(HostPath path);
[[nodiscard]] const char* name(HostPath path);
// The fastest one that it can.
[[nodiscard]] HostPath best_host_path();

}  // namespace mla::gfx
