// Owns: what the emulator reports of one instruction, as JSON for tools.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "hip_backend/gfx_emulator/launch.hpp"

namespace mla::app {

// Place, instruction, wave, lane and address; the other instruction and what is missing, if the
// emulator knows them.
nlohmann::ordered_json event_json(const gfx::Event& event);

}  // namespace mla::app
