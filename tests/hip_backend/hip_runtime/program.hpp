// A HIP program in small: what a test calls. Each function launches one kernel.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

namespace hip_program {

// a[i] * b[i] + i, through hipMalloc and hipMemcpy, in blocks of `block` threads.
std::vector<std::int32_t> multiply_add(const std::vector<std::int32_t>& a,
                                       const std::vector<std::int32_t>& b, unsigned block);
// The sum of each block of 128 numbers: shuffles in a wave, dynamic LDS between waves.
std::vector<std::int32_t> block_sums(const std::vector<std::int32_t>& numbers);
// Lane numbers as __shfl_xor(1), __shfl_up(2), __shfl_down(3) and __shfl(5) see them, in groups
// of 16.
std::vector<std::int32_t> shuffled();
// Where every thread of a grid of 2 x 3 blocks of 4 x 2 x 2 threads stands, as digits.
std::vector<std::int32_t> indices();
// How many of the numbers have each remainder by 8, counted by atomicAdd; after it the largest one
// (atomicMax), how many are odd (__ballot), and 1 where atomicCAS has found the last number in
// `out`.
std::vector<std::int32_t> counted(const std::vector<std::int32_t>& numbers);
// What a kernel that adds `step` (a constant of the device) to each element of a variable, its
// index, leaves there after hipMemcpyToSymbol of both.
std::vector<std::int32_t> stepped(std::int32_t step);
// Whether code after #ifdef __HIP_PLATFORM_AMD__ is there: on the host, and as a kernel sees it.
bool platform_on_host();
bool platform_on_device();
// The size of a variable of 8 words, and the error of asking for that of no variable.
std::size_t variable_size();
hipError_t size_of_a_stranger();
// Launches three blocks, of which the last one does not end.
void spin();
// Launches barrier_for_half_kernel, whose second wave ends before a barrier of the first.
void barrier_for_half();
const void* barrier_for_half_stub();
// Launches so many blocks of 64 threads that all are on the device at once.
hipError_t launch_together(unsigned blocks);
// Launches nothing in a grid without blocks.
hipError_t launch_no_blocks();
// HIP's count of workgroups of 256 threads on a compute unit: of a kernel without LDS, and with so
// many bytes of it.
int blocks_on_a_unit(std::size_t dynamic_lds);
// A row of 3 bytes after the other through memory with a pitch, and back.
std::vector<char> through_pitched_memory(const std::vector<char>& rows);
// Copies from a variable that reach past its end, and from what is none.
std::vector<hipError_t> strange_symbols();
// Copies 4 words to a variable and from it to `device`, one of the two waiting for the device. The
// error of that one.
hipError_t copy_to_and_from_variable(std::int32_t* device, const void* from, bool to_waits);
// Writes one word past the end of what hipMalloc gave out; the error of the launch.
hipError_t write_past_the_end();
// The same, and asks for no error.
void fault_unasked();
// The same to memory that hipFree took back.
hipError_t write_to_freed();
// So many words that a kernel copies from memory of which the first ones were written.
std::vector<std::int32_t> copy_of(const std::vector<std::int32_t>& written, std::size_t count);
// A kernel of (std::int32_t* word, std::int32_t factor, std::int32_t addend): the word times the
// factor, which goes through 4 bytes of LDS, plus the addend.
const void* step_word();
// 1000 + i of thread i through LDS to the thread 64 further on, of the other wave, without a
// barrier.
std::vector<std::int32_t> unguarded();
// hipFree of what hipMalloc did not give out.
hipError_t free_a_stranger();

}  // namespace hip_program
