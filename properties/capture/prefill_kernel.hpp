// What AITER's kernel behind get_ps_metadata_v1 takes, against what its planner was told.
//
// There is one: mla_prefill_ps_fwd, FP8, gfx950, tiles of 256 rows by 128 keys of one head, pages
// of one token (csrc/py_itfs_cu/asm_mla.cu; hsa/gfx950/mla/mla_asm.csv). The planner also plans for
// other tiles, groups of heads and pages. Private to properties.
#pragma once

#include <string>
#include <vector>

#include "properties/capture/checked_prefill.hpp"

namespace mla::cli {

// Why the kernel does not take the call; empty if it does.
std::vector<std::string> refused_by_kernel(const PrefillCall& call);
// Works of a valid plan that the kernel gets wrong; empty without one (AITER-34).
std::string cut_between_tiles(const PrefillCall& call);

}  // namespace mla::cli
