#include "hip_backend/packing.hpp"

#include <cstdint>
#include <cstring>

namespace mla::hip {

std::vector<std::byte> pack_q(const RowMap& rows, const DecodeTensors& tensors, Dtype dtype) {
  const auto bytes = static_cast<std::size_t>(kKeyDim * element_bytes(dtype));
  const std::int64_t model = rows.padding().model.count();
  std::vector<std::byte> packed(static_cast<std::size_t>(rows.kernel_rows() * rows.row_heads()) *
                                bytes);
  std::byte* to = packed.data();
  for (std::int64_t row = 0; row < rows.kernel_rows(); ++row) {
    for (std::int64_t head = 0; head < rows.row_heads(); ++head, to += bytes) {
      const auto from =
          static_cast<std::size_t>(rows.query_row(row) * model + rows.model_head(row, head));
      std::memcpy(to, tensors.q.data() + from * bytes, bytes);
    }
  }
  return packed;
}

}  // namespace mla::hip
