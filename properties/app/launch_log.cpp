#include "properties/app/launch_log.hpp"

#include <cstdio>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/report/roofline.hpp"

namespace mla::app {
namespace {

std::string assumed_text(const std::map<std::string, std::uint64_t>& assumed) {
  std::string out;
  for (const auto& [name, times] : assumed)
    out += say("  rests on ", name, ", ", times, " wave instructions\n");
  return out;
}

// A measure of one stage, of two backends.
std::string compared(const char* what, std::uint64_t first, std::uint64_t second) {
  char text[128];
  const double ratio = second == 0 ? 0.0 : static_cast<double>(first) / static_cast<double>(second);
  std::snprintf(text, sizeof text, "  %-20s %14llu %14llu %7.2f\n", what,
                static_cast<unsigned long long>(first), static_cast<unsigned long long>(second),
                ratio);
  return text;
}

std::string compared(const gfx::Statistics& a, const gfx::Statistics& b) {
  return compared("wave instructions", a.instructions, b.instructions) +
         compared("memory bytes", a.bytes_read + a.bytes_written, b.bytes_read + b.bytes_written) +
         compared("LDS bytes", a.lds_bytes_read + a.lds_bytes_written,
                  b.lds_bytes_read + b.lds_bytes_written);
}

}  // namespace

void LaunchLog::begin(std::string_view backend) {
  backends_.push_back({.backend = std::string(backend), .stages = {}});
}

void LaunchLog::note(std::string_view kernel, const gfx::LaunchReport& report) {
  Entry& entry = entries_[std::string(kernel)];
  ++entry.launches;
  entry.sum.add(report.statistics);
  for (const gfx::Assumed& a : report.assumed) entry.assumed[a.name] += a.times;
  if (backends_.empty()) return;
  const bool reduces = kernel.find("reduce") != std::string_view::npos;
  Stage& stage = backends_.back().stages[reduces ? "reduce" : "stage 1"];
  ++stage.launches;
  stage.sum.add(report.statistics);
}

std::string LaunchLog::text(gfx::Arch arch) const {
  std::string out;
  for (const auto& [kernel, entry] : entries_)
    out += say("kernel ", kernel, ", ", entry.launches, " launches\n",
               gfx::statistics_text(entry.sum, arch), assumed_text(entry.assumed));
  return out + comparison();
}

std::string LaunchLog::comparison() const {
  std::string out;
  const Of* first = nullptr;
  for (const Of& b : backends_) {
    if (b.stages.empty()) continue;
    if (first == nullptr) {
      first = &b;
      continue;
    }
    for (const auto& [name, stage] : first->stages) {
      const auto other = b.stages.find(name);
      if (other == b.stages.end()) continue;
      char head[160];
      std::snprintf(head, sizeof head, "%-22s %14s %14s   ratio\n", name.c_str(),
                    first->backend.c_str(), b.backend.c_str());
      out += head + compared("launches", stage.launches, other->second.launches) +
             compared(stage.sum, other->second.sum);
    }
  }
  return out;
}

}  // namespace mla::app
