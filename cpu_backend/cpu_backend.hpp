// The CPU backend: an emulator of the persistent, paged kernels, executed with OpenMP.
//
// It reads the plan's buffers only (work_meta_data first, as the kernels do), one work item at a
// time, in an order drawn from the schedule seed; results are the same bits for every order and
// thread count. Decode and prefill run on a data path. FA steps are plain C++ on the host: the
// default backend has them, and so has the portable one. Contracts: stage 1 aiter.md 6, reduce
// aiter.md 7, non-persistent path aiter.md 4. Fails: indices that leave a buffer become faults of
// the result, never accesses.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/engine/backend.hpp"

namespace mla::cpu {

// Which data path computes: chosen at run time from what the machine has, or forced for a test.
enum class Isa : std::uint8_t { portable, avx2, avx512, avx512_bf16 };
std::string_view name(Isa isa);
// The data paths that this build has and this machine can run, best first; never empty.
std::vector<Isa> available_isas();

struct CpuOptions {
  Isa isa = Isa::portable;
};

// Null when available_isas() does not list the data path asked for.
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);
// With the best data path of the machine.
std::unique_ptr<Backend> make_cpu_backend();

}  // namespace mla::cpu
