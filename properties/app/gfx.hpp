// Any code object of gfx942 or gfx950 as text, its waits along all paths, and what a launch left.
//
// Fails: with one sentence for a file that is no code object, another architecture, and a kernel
// that is not there.
#pragma once

#include <string>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "properties/app/emulation.hpp"
#include "properties/app/gfx_arguments.hpp"
#include "properties/step/verdict.hpp"

namespace mla::app {

struct GfxListing {
  std::string text;  // or JSON
  prop::ExitCode exit = prop::ExitCode::held;
};

Result<gfx::CodeObject> load_gfx_object(const std::string& path);
// The kernel of that name; without a name the only one.
Result<const gfx::Kernel*> find_gfx_kernel(const gfx::CodeObject& object, const std::string& name);

// Of the kernel of that name; without a name of all.
Result<GfxListing> gfx_disassemble(const std::string& path, const std::string& kernel, bool json);
enum class GfxForm : std::uint8_t { text, json, sarif };
// The path may name a folder: one table then of all kernels in its files *.co and *.hsaco, those of
// its folders included, worst first.
Result<GfxListing> gfx_check(const std::string& path, const std::string& kernel, GfxForm form);

// What one launch left, as text and as JSON.
std::string gfx_run_text(const gfx::LaunchReport& report, const GfxArguments& arguments,
                         const EmulationLog& log);
std::string gfx_run_json(const gfx::LaunchReport& report, const GfxArguments& arguments,
                         const EmulationLog& log);

}  // namespace mla::app
