// Owns: which instructions of the host execute vector operations.
#pragma once

#include <cstdint>

namespace mla::gfx {

// The same text compiled for the baseline of the host and for AVX2 with FMA and F16C.
enum class HostPath : std::uint8_t { portable, avx2 };
[[nodiscard]] HostPath best_host_path();

}  // namespace mla::gfx
