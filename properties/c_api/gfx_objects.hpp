// Owns: what the handles of mla_gfx.h point at. Private to properties/c_api.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/lifetime.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "properties/c_api/mla_gfx.h"

struct mla_gfx_device {
  mla::gfx::Arch arch = mla::gfx::Arch::gfx942;
  mla::gfx::Memory memory;
};

struct mla_gfx_module {
  mla::gfx::CodeObject object;
};

struct mla_gfx_report {
  // The text of an event, as the C struct points at it.
  struct Lines {
    std::string file, line;
  };
  mla::gfx::LaunchReport launch;
  std::vector<Lines> lines;  // of each event, faults first
  [[nodiscard]] const mla::gfx::Event& event(std::size_t index) const MLA_LIFETIME_BOUND {
    const std::size_t faults = launch.faults.size();
    return index < faults ? launch.faults[index] : launch.findings[index - faults];
  }
};

namespace mla::c_api {

[[nodiscard]] mla_gfx_report make_report(gfx::LaunchReport launch);

}  // namespace mla::c_api
