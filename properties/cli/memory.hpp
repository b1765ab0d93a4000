// Memory of this machine: what a case may take before it is refused.
//
// Units: bytes. Fails: a case that needs more is an error that names it, its need and the limit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/case/case.hpp"
#include "core/result.hpp"
#include "properties/step/property.hpp"

namespace mla::cli {

// What is available now: of the machine, of the control groups that this process is in, and of its
// address space and data (`ulimit -v`, `ulimit -d`). 0 where the system does not say. `root` stands
// before the paths of /proc and /sys that are read.
std::int64_t available_memory(const std::string& root = {});

// What this process has used at most, so far.
double peak_memory();

// How much memory judging may take, and who says so.
struct MemoryLimit {
  std::int64_t bytes = 0;  // 0: no limit is known
  std::string source;      // "are available", "--memory-limit allows"
};
// `text` is what --memory-limit got; empty: what is available now.
Result<MemoryLimit> memory_limit(const std::string& text);

// What a case is judged by, and up to which size it is executed.
struct Judging {
  std::span<const prop::Property* const> properties;
  prop::ExecutionLimits limits;
};

// An error if judging the case needs more.
Status check_memory(const Case& c, const Judging& judging, const MemoryLimit& limit);
// An error if its lists and plan alone need more than is available.
Status check_list_memory(const Case& c);

// Before a case that takes longer than two seconds on a CPU: what it takes, on stderr if that is a
// terminal.
void announce(std::string_view command, const Case& c, const Judging& judging);

}  // namespace mla::cli
