// How an emulated device runs its launches, as options say it, and what the launches showed.
//
// Owns: the values of --checks, --schedule, --arrival and --matrix, and the log of the launches
// that ran under them. Fails: with the option, its value and those expected.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"

namespace mla::app {

// As typed; empty where the option is not there.
struct EmulationChoice {
  std::string
      checks;  // "all", or some of waits, lds, global, uninitialised, barriers, dropped, banks
  std::string schedule;  // "slice=4,order=shuffled.7"
  std::string arrival;   // "early", "late", "random.<seed>" or "after.<instructions>"
  std::string matrix;    // "fast" or "exact"
  // What launches record beside; no part of how they run.
  bool profile = false;
  std::optional<std::array<std::uint32_t, 3>> trace = {};
  [[nodiscard]] bool given() const;
  // " --checks=waits --schedule slice=1", for a replay.
  [[nodiscard]] std::string words() const;
};

// What the choice asks of launches on this device. Fails: a word that is not known, a device that
// is not emulated, exact matrix products on gfx950, late memory together with checks.
Result<gfx::RunOptions> read_emulation(const EmulationChoice& choice, std::string_view device);

// What the launches on one emulated device showed. Findings of one instruction of one kernel are
// one entry.
class EmulationLog {
 public:
  struct Entry {
    gfx::Event first;
    std::int64_t launches = 0;
  };
  using Key = std::tuple<std::string, std::uint64_t, gfx::Problem>;  // kernel, pc, problem

  explicit EmulationLog(std::string words) : words_(std::move(words)) {}
  void note(std::string_view kernel, const gfx::LaunchReport& report);
  [[nodiscard]] const std::map<Key, Entry>& findings() const MLA_LIFETIME_BOUND {
    return findings_;
  }
  // What is not held against the kernels: races in global memory of kernels that are not ours.
  [[nodiscard]] const std::map<Key, Entry>& notes() const MLA_LIFETIME_BOUND { return notes_; }
  // "emulated: 3 launches of 2 kernels under --checks=waits: 1 finding", then a line for each one.
  [[nodiscard]] std::string text() const;
  // The same as one JSON object.
  [[nodiscard]] std::string json() const;

 private:
  std::string words_;
  std::map<std::string, std::int64_t, std::less<>> launches_;  // by kernel
  std::map<Key, Entry> findings_;
  std::map<Key, Entry> notes_;
  std::map<std::string, std::uint64_t> assumed_;
  std::uint64_t bank_conflicts_ = 0;
};

}  // namespace mla::app
