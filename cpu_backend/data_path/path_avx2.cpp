#include "cpu_backend/data_path/data_path.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#define MLA_PATH_NAMESPACE path_avx2
#define MLA_PATH_BYTES 32
#define MLA_PATH_SUMS 12
#include "cpu_backend/data_path/path-inl.hpp"

namespace mla::cpu {

const DataPath* avx2_path() {
  using namespace path_avx2;
  static constexpr DataPath path{"avx2", kLanes, scratch_bytes, attend, decode, round, exp2};
  return &path;
}

}  // namespace mla::cpu
#else
namespace mla::cpu {

const DataPath* avx2_path() {
  return nullptr;
}

}  // namespace mla::cpu
#endif
