// Sixteen lanes, lowered to whatever vectors the baseline has: right, and slow.
#define MLA_PATH_NAMESPACE path_wide
#define MLA_PATH_BYTES 64
#define MLA_PATH_SUMS 12
#include "cpu_backend/data_path/path-inl.hpp"

namespace mla::cpu::test {

const DataPath& wide_path() {
  using namespace path_wide;
  static constexpr DataPath path{
      "16 lanes lowered", kLanes, scratch_bytes, attend, decode, round, exp2};
  return path;
}

}  // namespace mla::cpu::test
