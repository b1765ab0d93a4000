// Packing: Q in the kernel's rows and heads, which the device takes as one dense tensor.
#pragma once

#include <cstddef>
#include <vector>

#include "core/backend.hpp"
#include "core/builder/row_map.hpp"

namespace mla::hip {

// [kernel rows, row heads, 576] of `dtype` from q of the launch.
std::vector<std::byte> pack_q(const RowMap& rows, const DecodeTensors& tensors, Dtype dtype);

}  // namespace mla::hip
