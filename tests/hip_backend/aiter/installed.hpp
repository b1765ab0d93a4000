// The AITER whose directory hsa AITER_HSA names, for programs that judge it.
#pragma once

#include <memory>

#include "hip_backend/aiter/installation.hpp"

namespace mla::hip::aiter::test {

// Null with an exit code: 10 skipped, nothing is named; 3 what is named is no such directory. Why
// is printed.
std::shared_ptr<Installation> installed(int& exit);

}  // namespace mla::hip::aiter::test
