// The data paths that this machine can run, and one more: vectors of sixteen lanes without their
// instruction set, so that the widest text is checked on every machine.
#pragma once

#include <vector>

#include "cpu_backend/data_path/data_path.hpp"

namespace mla::cpu::test {

const DataPath& wide_path();

// Never empty; the first is the one that the backend takes by itself.
std::vector<const DataPath*> runnable_paths();

}  // namespace mla::cpu::test
