// Kernels of one thread for works on several streams.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

namespace hip_program {

// *out = *in + 1; and a byte.
void launch_step(const std::int32_t* in, std::int32_t* out, hipStream_t stream);
void launch_put_byte(std::uint8_t* out, std::uint8_t value, hipStream_t stream);
// *out += 1, atomically.
void launch_count(std::int32_t* out, hipStream_t stream);
// *out = 7, then *flag += 1 atomically; and *flag += 1, then *copy = *out.
void launch_hand_out(std::int32_t* out, std::int32_t* flag, hipStream_t stream);
void launch_take(std::int32_t* flag, const std::int32_t* out, std::int32_t* copy,
                 hipStream_t stream);
// Prints a line.
void launch_print(hipStream_t stream);

}  // namespace hip_program
