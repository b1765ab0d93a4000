// How launches run, in words: what --checks, --schedule, --arrival and --matrix take, and the
// variables of the environment that stand for them.
//
// A reader fails with the name it is given, the value and those expected; no words are the default.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/exec/options.hpp"

namespace mla::gfx {

// "all", or some of waits, lds, global, uninitialised, barriers, lanes, same-barrier, coherence,
// dropped and banks, with commas.
[[nodiscard]] Result<Checks> checks_from(std::string_view option, std::string_view words);
// "slice=64,order=shuffled.7": either or both; the orders in-turn, reverse and shuffled.<seed>.
[[nodiscard]] Result<Schedule> schedule_from(std::string_view option, std::string_view words);
// "early", "late", "random.<seed>" or "after.<instructions>".
[[nodiscard]] Result<Arrival> arrival_from(std::string_view option, std::string_view words);
// "fast" or "exact".
[[nodiscard]] Result<MfmaMode> matrix_from(std::string_view option, std::string_view words);

// The same back. Words of Checks do not say whether global races are notes.
[[nodiscard]] std::string words_of(const Checks& checks);
[[nodiscard]] std::string words_of(const Schedule& schedule);
[[nodiscard]] std::string words_of(const Arrival& arrival);
[[nodiscard]] std::string words_of(MfmaMode mode);

}  // namespace mla::gfx
