// Names and lines of what a launch reports.
#include <cstdio>

#include "hip_backend/gfx_emulator/report/report.hpp"

namespace mla::gfx {

const char* name_of(Problem problem) {
  switch (problem) {
    case Problem::out_of_bounds:
      return "out-of-bounds";
    case Problem::read_only:
      return "read-only";
    case Problem::misaligned:
      return "misaligned";
    case Problem::lds_out_of_bounds:
      return "lds-out-of-bounds";
    case Problem::bad_jump:
      return "bad-jump";
    case Problem::not_implemented:
      return "not-implemented";
    case Problem::trap:
      return "trap";
    case Problem::instruction_limit:
      return "instruction-limit";
    case Problem::bad_operand:
      return "bad-operand";
    case Problem::missing_wait:
      return "missing-wait";
    case Problem::lds_race:
      return "lds-race";
    case Problem::global_race:
      return "global-race";
    case Problem::uninitialised_register:
      return "uninitialised-register";
    case Problem::uninitialised_lds:
      return "uninitialised-lds";
    case Problem::uninitialised_memory:
      return "uninitialised-memory";
    case Problem::divergent_lanes:
      return "divergent-lanes";
    case Problem::inactive_lane:
      return "inactive-lane";
    case Problem::divergent_barrier:
      return "divergent-barrier";
    case Problem::hidden_out_of_bounds:
      return "hidden-out-of-bounds";
    case Problem::missing_release:
      return "missing-release";
    case Problem::missing_acquire:
      return "missing-acquire";
    case Problem::narrow_scope:
      return "narrow-scope";
  }
  return "unknown";
}

const char* name_of(MatrixType type) {
  switch (type) {
    case MatrixType::f64:
      return "f64";
    case MatrixType::f32:
      return "f32";
    case MatrixType::xf32:
      return "xf32";
    case MatrixType::half:
      return "16-bit";
    case MatrixType::byte:
      return "8-bit";
    case MatrixType::count:
      break;
  }
  return "unknown";
}

std::string Event::address_text() const {
  // Programs are loaded from 4 MiB on; below are offsets into LDS, and null pointers.
  constexpr std::uint64_t kHostMemory = std::uint64_t{4} << 20U;
  char number[32];
  if (!range.empty()) {
    const auto bytes = static_cast<std::uint64_t>(range_offset);
    std::snprintf(number, sizeof number, "%s0x%llx", range_offset < 0 ? "-" : "+",
                  static_cast<unsigned long long>(range_offset < 0 ? -bytes : bytes));
    return "'" + range + "'" + number;
  }
  if (address >= kHostMemory) return {};
  std::snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(address));
  return number;
}

std::string Cause::text() const {
  char where[80];
  std::snprintf(where, sizeof where, " of workgroup (%u,%u,%u) wave %u", workgroup[0], workgroup[1],
                workgroup[2], wave);
  const std::string line = source ? " (" + source->full_text() + ")" : "";
  return "`" + disassembly + "` at " + place + line + where;
}

std::string Event::line() const {
  char where[160];
  std::snprintf(where, sizeof where, ": workgroup (%u,%u,%u) wave %u ", workgroup[0], workgroup[1],
                workgroup[2], wave);
  std::string out = name_of(problem);
  out += where;
  if (lane >= 0) out += "lane " + std::to_string(lane) + " ";
  if (lanes != 0 && lanes != ~std::uint64_t{0}) {
    std::snprintf(where, sizeof where, "lanes 0x%llx ", static_cast<unsigned long long>(lanes));
    out += where;
  }
  out += "at " + place + " `" + disassembly + "`";
  if (source) out += " (" + source->full_text() + ")";
  if (const std::string at = address_text(); !at.empty()) out += ", address " + at;
  std::snprintf(where, sizeof where, ", pc 0x%llx", static_cast<unsigned long long>(pc));
  out += where + (": " + text);
  if (cause) out += "; the other is " + cause->text();
  if (!fix.empty()) out += "; missing: " + fix;
  return out;
}

void Statistics::add(const Statistics& other) {
  instructions += other.instructions;
  for (std::size_t k = 0; k < by_class.size(); ++k) by_class[k] += other.by_class[k];
  for (std::size_t k = 0; k < matrix_flops.size(); ++k) matrix_flops[k] += other.matrix_flops[k];
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  lds_bytes_read += other.lds_bytes_read;
  lds_bytes_written += other.lds_bytes_written;
  lds_loads_masked += other.lds_loads_masked;
  scratch_bytes += other.scratch_bytes;
  lds_bank_conflicts += other.lds_bank_conflicts;
  barrier_stalls += other.barrier_stalls;
  workgroups += other.workgroups;
  waves += other.waves;
}

}  // namespace mla::gfx
