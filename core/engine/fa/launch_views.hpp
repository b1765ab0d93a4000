// What the launchers of the three runs share: views of a run's rows and blocks. Private to
// core/engine/fa. Units: rows, requests, elements.
#pragma once

#include "core/engine/fa/layer_launch.hpp"

namespace mla::fa {

inline std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// The views of one run of rows.
struct RunViews {
  device::DeviceView<std::uint16_t> q, k, v, out;
};
RunViews views_of(const LayerLaunch& launch, Rows first, Rows count);

// Columns of the block table, and its rows for one run of requests.
std::int64_t columns_of(const Metadata& md);
device::DeviceView<std::int32_t> block_rows(const Metadata& md, Requests first, Requests count);

}  // namespace mla::fa
