#include "streams.hpp"

namespace hip_program {
namespace {

__global__ void step(const std::int32_t* in, std::int32_t* out) {
  *out = *in + 1;
}
__global__ void put_byte(std::uint8_t* out, std::uint8_t value) {
  *out = value;
}
__global__ void count(std::int32_t* out) {
  atomicAdd(out, 1);
}
__global__ void hand_out(std::int32_t* out, std::int32_t* flag) {
  *out = 7;
  __threadfence();
  atomicAdd(flag, 1);
}
__global__ void take(std::int32_t* flag, const std::int32_t* out, std::int32_t* copy) {
  if (atomicAdd(flag, 1) == 0) return;
  __threadfence();
  *copy = *out;
}
__global__ void print() {
  printf("printed\n");
}

}  // namespace

void launch_step(const std::int32_t* in, std::int32_t* out, hipStream_t stream) {
  step<<<1, 1, 0, stream>>>(in, out);
}
void launch_put_byte(std::uint8_t* out, std::uint8_t value, hipStream_t stream) {
  put_byte<<<1, 1, 0, stream>>>(out, value);
}
void launch_count(std::int32_t* out, hipStream_t stream) {
  count<<<1, 1, 0, stream>>>(out);
}
void launch_hand_out(std::int32_t* out, std::int32_t* flag, hipStream_t stream) {
  hand_out<<<1, 1, 0, stream>>>(out, flag);
}
void launch_take(std::int32_t* flag, const std::int32_t* out, std::int32_t* copy,
                 hipStream_t stream) {
  take<<<1, 1, 0, stream>>>(flag, out, copy);
}
void launch_print(hipStream_t stream) {
  print<<<1, 1, 0, stream>>>();
}

}  // namespace hip_program
