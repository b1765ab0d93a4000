// Folded heads whose rows a persistent kernel may look up wrongly (aiter.md 9, pitfall 6).
#pragma once

#include <string>

#include "core/say.hpp"
#include "core/shape/kernel_table.hpp"

namespace mla {

// How the kernel misreads qo_indptr for requests of `rows` rows that are folded `fold_ratio` times;
// empty if it does not.
inline std::string misread_rows(const KernelEntry& kernel, std::int64_t fold_ratio,
                                std::int64_t rows) {
  const bool misread =
      fold_ratio > 1 && kernel.arch == Arch::gfx950 && kernel.dtype.both(Dtype::fp8) && rows >= 3;
  return misread ? say(kernel.label, " reads qo_indptr with the folded request index")
                 : std::string();
}

}  // namespace mla
