// Memory of this machine: what a case may take before it is refused.
//
// Units: bytes. Fails: a case that needs more is an error that names it, its need and the limit.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/case/case.hpp"
#include "core/result.hpp"
#include "properties/app/list_memory.hpp"
#include "properties/step/property.hpp"

namespace mla::app {

// What is available now: of the machine, of the control groups that this process is in, and of its
// address space and data (`ulimit -v`, `ulimit -d`). 0 where the system does not say. `root` stands
// before the paths of /proc and /sys that are read.
std::int64_t available_memory(const std::string& root = {});

// What this process has used at most, so far.
double peak_memory();

MemoryLimit available_limit();

// What a case is judged by, and up to which size it is executed.
struct Judging {
  std::span<const prop::Property* const> properties;
  prop::ExecutionLimits limits;
};

// An error if judging the case needs more.
MaybeError check_memory(const Case& c, const Judging& judging, const MemoryLimit& limit);
// An error if its lists and plan alone need more than is available.
MaybeError check_list_memory(const Case& c);

// What a case takes if that is longer than two seconds on a CPU; otherwise empty.
std::string announcement(const Case& c, const Judging& judging);

}  // namespace mla::app
