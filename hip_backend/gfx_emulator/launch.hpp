// Owns: running one kernel.
//
// run() returns an error for a request that cannot start (no such kernel, a block that is too
// large, too much LDS). What goes wrong while the kernel runs is a Fault in the report: the launch
// ends early, and memory is left as it was at that moment. A launch that an interrupt ends
// (run/interrupt.hpp) is an error that says where the waves were.
#pragma once

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/exec/options.hpp"
#include "hip_backend/gfx_emulator/memory/memory.hpp"
#include "hip_backend/gfx_emulator/object/code_object.hpp"
#include "hip_backend/gfx_emulator/report/report.hpp"

namespace mla::gfx {

[[nodiscard]] Result<LaunchReport> run(const CodeObject& object, const LaunchRequest& request,
                                       const Memory& memory);

}  // namespace mla::gfx
