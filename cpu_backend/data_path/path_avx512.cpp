#include "cpu_backend/data_path/data_path.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#define MLA_PATH_NAMESPACE path_avx512
#define MLA_PATH_BYTES 64
#define MLA_PATH_SUMS 24
#include "cpu_backend/data_path/path-inl.hpp"

namespace mla::cpu {

const DataPath* avx512_path() {
  using namespace path_avx512;
  static constexpr DataPath path{"avx512", kLanes, scratch_bytes, attend, decode, round, exp2};
  return &path;
}

}  // namespace mla::cpu
#else
namespace mla::cpu {

const DataPath* avx512_path() {
  return nullptr;
}

}  // namespace mla::cpu
#endif
