// A test case that cannot run here says why, instead of passing.
//
// Owns the list of reasons. main() prints it and ends with 10, which ctest shows as skipped, unless
// a case failed.
#pragma once

#include <string>
#include <vector>

namespace mla::test {

// Notes that the running test case, or a part of it, did not run.
void skip(const std::string& reason);

const std::vector<std::string>& skips();

}  // namespace mla::test
