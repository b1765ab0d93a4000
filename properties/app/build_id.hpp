// Which build of the program wrote a record: another one may judge the same cases otherwise.
#pragma once

#include <string>

#include "core/result.hpp"

namespace mla::app {

// The linker's id of the running program, in hexadecimal; empty if it was linked without one.
std::string build_id();
// An error unless `build`, which `file` has, is the running one.
MaybeError check_build(const std::string& build, const std::string& file);

}  // namespace mla::app
