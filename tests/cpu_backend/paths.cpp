#include "tests/cpu_backend/paths.hpp"

#include "cpu_backend/cpu_backend.hpp"

namespace mla::cpu::test {

std::vector<const DataPath*> runnable_paths() {
  std::vector<const DataPath*> paths;
  for (const Isa isa : available_isas()) {
    if (isa == Isa::avx512_bf16) paths.push_back(avx512_bf16_path());
    if (isa == Isa::avx512) paths.push_back(avx512_path());
    if (isa == Isa::avx2) paths.push_back(avx2_path());
    if (isa == Isa::portable) paths.push_back(&portable_path());
  }
  paths.push_back(&wide_path());
  return paths;
}

}  // namespace mla::cpu::test
