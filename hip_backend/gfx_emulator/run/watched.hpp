// Owns: running one kernel under the eyes of the caller.
#pragma once

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/exec/memory/watch.hpp"
#include "hip_backend/gfx_emulator/exec/options.hpp"
#include "hip_backend/gfx_emulator/memory/memory.hpp"
#include "hip_backend/gfx_emulator/object/code_object.hpp"
#include "hip_backend/gfx_emulator/report/report.hpp"

namespace mla::gfx {

// As run(). The watch (null: none) is told of every access to global memory, by one thread.
[[nodiscard]] Result<LaunchReport> run_watched(const CodeObject& object,
                                               const LaunchRequest& request, const Memory& memory,
                                               GlobalWatch* watch);

}  // namespace mla::gfx
