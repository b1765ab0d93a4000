// Whether this build has machine code for an architecture; a test case without it is a skip.
#pragma once

#include <string>
#include <string_view>

#include "core/arch.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "tests/skip.hpp"

namespace mla::hip::test {

inline bool has_code(Arch arch, std::string_view unit) {
  if (!code_object(name(arch), unit).empty()) return true;
  mla::test::skip("no code of " + std::string(unit) + " for " + std::string(name(arch)) + ": " +
                  std::string(build_notes()));
  return false;
}

}  // namespace mla::hip::test
