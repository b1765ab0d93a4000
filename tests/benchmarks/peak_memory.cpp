#include "tests/benchmarks/peak_memory.hpp"

#include <fstream>
#include <string>

namespace mla::bench {

void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;  // VmHWM becomes VmRSS
}

double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024 * 1e-6;
    }
  return 0;
}

}  // namespace mla::bench
