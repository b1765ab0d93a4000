#define MLA_PATH_NAMESPACE path_portable
#define MLA_PATH_BYTES 16
#define MLA_PATH_SUMS 12
#include "cpu_backend/data_path/path-inl.hpp"

namespace mla::cpu {

const DataPath& portable_path() {
  using namespace path_portable;
  static constexpr DataPath path{"portable", kLanes, scratch_bytes, attend, decode, round, exp2};
  return path;
}

}  // namespace mla::cpu
