// A hidden test of this program, run again in a process of its own with other variables.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/catch.hpp"

namespace hip_program {

struct Ended {
  std::string text;  // both outputs
  int code = 0;      // -1: by a signal
};

// How the test ends; `variables` as a shell takes them.
inline Ended ended_with(const std::string& variables, const std::string& test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = variables + " '" + self + "' '" + test + "' 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ended ended;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) ended.text += static_cast<char>(c);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

// What the test prints; it ends with 0.
inline std::string said_with(const std::string& variables, const std::string& test) {
  const Ended ended = ended_with(variables, test);
  REQUIRE(ended.code == 0);
  return ended.text;
}

}  // namespace hip_program
