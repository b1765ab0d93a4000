// A hidden test of this program, run again in a process of its own with other variables.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/catch.hpp"

namespace hip_program {

// What the test prints, both outputs; `variables` as a shell takes them.
inline std::string said_with(const std::string& variables, const std::string& test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = variables + " '" + self + "' '" + test + "' 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  REQUIRE(pclose(pipe) == 0);
  return text;
}

}  // namespace hip_program
