// LaunchLog: what each kernel did on an emulated device, launches added up, and backends compared.
//
// Kernels whose names speak of a reduce are one stage, all others are stage 1. A kernel that is
// asked a second time, for its LSE, has two launches.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hip_backend/gfx_emulator/launch.hpp"

namespace mla::app {

class LaunchLog {
 public:
  // The backend whose launches follow.
  void begin(std::string_view backend);
  void note(std::string_view kernel, const gfx::LaunchReport& report);
  // Every kernel. After several backends with launches, also what each stage took: the first
  // backend against each of the others.
  [[nodiscard]] std::string text(gfx::Arch arch) const;

 private:
  struct Stage {
    std::uint64_t launches = 0;
    gfx::Statistics sum;
  };
  struct Entry : Stage {
    std::map<std::string, std::uint64_t> assumed;
  };
  struct Of {
    std::string backend;
    std::map<std::string, Stage> stages;
  };
  [[nodiscard]] std::string comparison() const;
  std::map<std::string, Entry> entries_;
  std::vector<Of> backends_;
};

}  // namespace mla::app
