// Launches: the kernels that ran, counted by the code that launches them.
//
// An entry names the backend and the device whose code ran, not those asked for the step: a
// backend that hands a step on leaves the other's name here. Device "host" stands for code of the
// CPU that is the same on each of its data paths. A count of 0 says that a step was executed and
// had nothing to launch. Units: launches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/case/case.hpp"
#include "core/lifetime.hpp"

namespace mla {

inline constexpr const char* kHost = "host";

struct Launch {
  std::string backend;  // "cpu", "hip", "aiter"
  std::string device;   // "avx512", "emulated:gfx942"
  StepKind kind = StepKind::decode;
  std::string kernel;  // "stage 1", "reduce", "flash attention"
  std::int64_t count = 1;
};

class Launches {
 public:
  void add(const Launch& launch);
  void add(const Launches& other);
  // By backend, device, kind and kernel, in this order.
  [[nodiscard]] const std::vector<Launch>& entries() const& MLA_LIFETIME_BOUND { return entries_; }
  const std::vector<Launch>& entries() const&& = delete;
  // Launches of one backend's kernels on one device; nothing if it executed no step of that kind.
  [[nodiscard]] std::optional<std::int64_t> of(std::string_view backend, std::string_view device,
                                               StepKind kind) const;
  // "hip on emulated:gfx942: decode 3 (reduce 1, stage 1 2)" for each backend and device; entries
  // without a launch are left out.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::vector<Launch> entries_;
};

}  // namespace mla
