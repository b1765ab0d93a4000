#include "hip_backend/gfx_emulator/report/roofline.hpp"

#include <cstdio>

namespace mla::gfx {
namespace {

constexpr double kTera = 1e12;
constexpr Peaks kMi300x{
    "MI300X",
    {163.4 * kTera, 163.4 * kTera, 653.7 * kTera, 1307.4 * kTera, 2614.9 * kTera},
    5.3 * kTera};
constexpr Peaks kMi355x{
    "MI355X", {78.6 * kTera, 157.3 * kTera, 0, 2516.6 * kTera, 5033.2 * kTera}, 8.0 * kTera};

std::string line(const char* label, std::uint64_t value) {
  char text[96];
  std::snprintf(text, sizeof text, "  %-26s %18llu\n", label,
                static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

const Peaks& peaks_of(Arch arch) {
  return arch == Arch::gfx942 ? kMi300x : kMi355x;
}

Roofline roofline(const Statistics& s, Arch arch) {
  const Peaks& peaks = peaks_of(arch);
  Roofline out;
  for (std::size_t k = 0; k < peaks.matrix.size(); ++k)
    if (peaks.matrix[k] > 0) out.matrix += static_cast<double>(s.matrix_flops[k]) / peaks.matrix[k];
  out.memory = static_cast<double>(s.bytes_read + s.bytes_written) / peaks.memory;
  return out;
}

std::string statistics_text(const Statistics& s, Arch arch) {
  std::string text = line("workgroups", s.workgroups) + line("waves", s.waves) +
                     line("wave instructions", s.instructions);
  for (std::size_t k = 0; k < s.matrix_flops.size(); ++k)
    if (s.matrix_flops[k] > 0)
      text += line((std::string("matrix flops, ") + name_of(static_cast<MatrixType>(k))).c_str(),
                   s.matrix_flops[k]);
  text += line("bytes read", s.bytes_read) + line("bytes written", s.bytes_written) +
          line("LDS bytes read", s.lds_bytes_read) +
          line("LDS bytes written", s.lds_bytes_written) +
          line("turns lost at barriers", s.barrier_stalls);
  const Roofline r = roofline(s, arch);
  char bound[160];
  std::snprintf(bound, sizeof bound,
                "  at least %.3f us of matrix units, %.3f us of memory on %s: bound by %s\n",
                1e6 * r.matrix, 1e6 * r.memory, std::string(peaks_of(arch).product).c_str(),
                r.matrix > r.memory ? "the matrix units" : "memory");
  return text + bound;
}

}  // namespace mla::gfx
