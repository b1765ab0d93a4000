// Roofline: the least time that a real GPU needs for what a launch did, by its published peaks.
//
// Static: counts of the emulator against peaks of the product, no model of timing. Memory counts
// what waves asked for, so the caches' share is in it. MI300X for gfx942, MI355X for gfx950.
// Source of the peaks: AMD's data sheets of both products, dense rates. Units: flop/s, bytes/s,
// seconds. Fails: never; a type that the product has no rate for has the time 0.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "hip_backend/gfx_emulator/object/code_object.hpp"
#include "hip_backend/gfx_emulator/report/report.hpp"

namespace mla::gfx {

struct Peaks {
  std::string_view product;
  std::array<double, static_cast<std::size_t>(MatrixType::count)> matrix;  // 0: no such unit
  double memory = 0;
};
[[nodiscard]] const Peaks& peaks_of(Arch arch);

struct Roofline {
  double matrix = 0;
  double memory = 0;
};
[[nodiscard]] Roofline roofline(const Statistics& statistics, Arch arch);

// Several lines for people: counts, and the times of the roofline with what binds.
[[nodiscard]] std::string statistics_text(const Statistics& statistics, Arch arch);

}  // namespace mla::gfx
