// What the launchers of the three runs share: views of a run's rows and blocks. Private to
// cpu_backend/fa. Units: rows, requests, elements.
#pragma once

#include "cpu_backend/fa/launch.hpp"

namespace mla::cpu {

inline std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// The views of one run of rows.
struct RunViews {
  device::DeviceView<std::uint16_t> q, k, v, out;
};
RunViews views_of(const FaLaunch& launch, Rows first, Rows count);

// Columns of the block table, and its rows for one run of requests.
std::int64_t columns_of(const fa::Metadata& md);
device::DeviceView<std::int32_t> block_rows(const fa::Metadata& md, Requests first, Requests count);

}  // namespace mla::cpu
