// Owns: one operation on one host path, over rows of words that lie one after the other in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "encode.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/load.hpp"

namespace gfx_test {

// A word for each of the 1024 threads of a workgroup, row after row.
using Rows = std::vector<std::uint32_t>;

class OnPath {
 public:
  static constexpr unsigned threads = 1024, first = vgpr + 2;  // the register of the first row
  struct Options {
    unsigned sources = 1, result = vgpr + 8, results = 1;  // rows; registers from `result` on
    std::uint32_t mode = 0xf0;
    mla::gfx::Arch arch = mla::gfx::Arch::gfx942;
  };
  OnPath(mla::gfx::HostPath path, const Words& operation, const Options& options);
  [[nodiscard]] Rows run(Rows sources) const;  // the results

 private:
  unsigned results_;
  mla::gfx::CodeObject object_;
};

}  // namespace gfx_test
