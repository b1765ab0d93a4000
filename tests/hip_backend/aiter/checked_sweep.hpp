// The sweep under the checks of the emulator, and with memory that answers late: which instructions
// of each kernel break a rule, along all paths of the graph and in the sweep's cases, and whether
// the numbers show it.
//
// Kernels that differ only in the mask, the LSE or the dealing out to ranks are one family. The
// table of docs/findings/aiter-checks.md has one row for each.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "hip_backend/gfx_emulator/launch.hpp"
#include "tests/hip_backend/aiter/sweep.hpp"

namespace mla::hip::aiter::test {

// What one kernel showed.
struct Showed {
  std::set<std::pair<std::uint64_t, std::uint64_t>> paths;  // waits missing on some: use, load
  std::map<gfx::Problem, std::map<std::uint64_t, std::string>> run;  // by the instruction
  std::uint64_t launches = 0;                                        // under checks
  int late = 0;                                                      // cases wrong only if late
  int cases = 0;
};

// The cases of one row.
std::vector<Verdict> judge_row(Arch arch, const ManifestRow& row,
                               const std::shared_ptr<Installation>& installation,
                               const EmulatedOptions& device);

// All rows of the file, on the emulated device.
Result<Showed> look_at(Arch arch, const std::string& file, const Manifest& manifest,
                       const std::shared_ptr<Installation>& installation);

// The name without what its variants differ in: "a16w16_qh32_qseqlen4_gqaratio32_ps".
std::string family_of(std::string_view file);

// One row of the table: counts of instructions, least to most.
std::string table_row(Arch arch, const std::string& family, const std::vector<Showed>& kernels);

}  // namespace mla::hip::aiter::test
