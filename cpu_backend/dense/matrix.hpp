// Matrices of the float64 references: xtensor's, row-major.
//
// xtensor 0.26 moved its headers into folders; this is the only file that includes them.
#pragma once

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

namespace mla::cpu {

using Matrix = xt::xtensor<double, 2>;

}  // namespace mla::cpu
