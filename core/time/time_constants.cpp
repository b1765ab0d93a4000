#include "core/time/time_constants.hpp"

namespace mla::timing {
namespace {

constexpr DtypePair kBf16{Dtype::bf16, Dtype::bf16};
constexpr DtypePair kFp8{Dtype::fp8, Dtype::fp8};

// Bytes and operations in a microsecond: 1e6 is a TB/s or a TFLOP/s.
constexpr TimeConstants kTable[] = {
    {.name = "gfx950 fp8 with a plan",
     .arch = Arch::gfx950,
     .dtype = kFp8,
     .planned = true,
     .units = 256,
     .tile_keys = 32,
     .tiles = {{{16, 5.27, 13.6, 0, 1024},
                {32, 6.43, 20.8, 0, 128},
                {64, 6.75, 20.0, 0, 1},
                {128, 9.55, 37.1, 1571e6, 256}}},
     .idle_us = 0,
     .memory_bytes_per_us = 6.8e6,
     .reduce_start_us = 4.81,
     .reduce_piece_us = 0.136,
     .reduce_bytes_per_us = 20e6,
     .launch_us = 1.5,
     .least_keys = 32,
     .most_keys = 1048576,
     .error = 0.15,
     .guess_error = 0.5},
    {.name = "gfx950 bf16 with a plan",
     .arch = Arch::gfx950,
     .dtype = kBf16,
     .planned = true,
     .units = 256,
     .tile_keys = 32,
     .tiles = {{{16, 8.82, 25.3, 0, 0},
                {32, 8.82, 25.3, 0, 128},
                {64, 8.82, 25.3, 0, 0},
                {128, 13, 75, 476e6, 0}}},
     .idle_us = 0,
     .memory_bytes_per_us = 6.8e6,
     .reduce_start_us = 4.81,
     .reduce_piece_us = 0.136,
     .reduce_bytes_per_us = 20e6,
     .launch_us = 1.5,
     .least_keys = 4096,
     .most_keys = 131072,
     .error = 0.1,
     .guess_error = 0.5},
    {.name = "gfx950 bf16 without a plan",
     .arch = Arch::gfx950,
     .dtype = kBf16,
     .planned = false,
     .units = 256,
     .tile_keys = 64,
     .tiles = {{{16, 4.55, 26.7, 0, 256}, {}, {}, {}}},
     .idle_us = 0.406,
     .memory_bytes_per_us = 6.19e6,
     .reduce_start_us = 0,
     .reduce_piece_us = 0.304,
     .reduce_bytes_per_us = 10.4e6,
     .launch_us = 7.49,
     .least_keys = 21,
     .most_keys = 8192,
     .error = 0.1,
     .guess_error = 0.5},
};

}  // namespace

std::span<const TimeConstants> time_constants() {
  return kTable;
}

}  // namespace mla::timing
