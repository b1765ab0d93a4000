// Catch2 as the system has it: version 2 (Debian 12, Ubuntu 22.04) or version 3 (newer systems).
//
// Every test includes this and neither version's own header. `contains` is the one matcher that
// has another name in version 3. MLA_CATCH2 is the version that CMake found: headers of the other
// may be there too.
#pragma once

#include <string>

#if MLA_CATCH2 == 3
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

namespace mla::test {

// Matches a text that has `part` in it.
inline auto contains(const std::string& part) {
#if MLA_CATCH2 == 3
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Contains(part);
#endif
}

}  // namespace mla::test
