// What the static checks say of one kernel, as lines and as JSON, and of many files in one answer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/check/static_waits.hpp"
#include "hip_backend/gfx_emulator/elf/line_table.hpp"
#include "properties/app/gfx.hpp"

namespace mla::app {

struct GfxFinding {
  const char* problem;  // "missing-wait", "missing-wait-states", "lds-above-limit"
  std::string place;    // "kernel+0x1c"
  std::string line;     // all of it
  std::optional<gfx::SourceLine> source;
  nlohmann::ordered_json json;
};

struct GfxFindings {
  gfx::StaticReport report;
  std::size_t states = 0;  // of the findings: missing wait states
  bool lds = false;        // one of them: more LDS than a workgroup can have
  std::vector<GfxFinding> findings;
};
GfxFindings gfx_findings(const gfx::CodeObject& object, const gfx::Kernel& kernel);

// The kernels that were asked for: one by name, or all.
Result<std::vector<const gfx::Kernel*>> gfx_kernels(const gfx::CodeObject& object,
                                                    const std::string& name);

// Fails: with one sentence if the folder has no code object. A file that is none is named in the
// answer; the exit code is then that of wrong input unless something was found.
Result<GfxListing> gfx_check_folder(const std::string& folder, const std::string& kernel,
                                    GfxForm form);
// Findings in the form that editors and code review tools read (SARIF 2.1.0).
Result<GfxListing> gfx_sarif(const std::vector<std::string>& files, const std::string& kernel);

}  // namespace mla::app
