// What the programs of the device language give to the test: one function for each .hip file.
#pragma once

#include <string>
#include <vector>

namespace hip_language {

// A function of mathematics over many arguments: the largest distance from the host's long double,
// in units in the last place, where that is `at`.
struct Sweep {
  std::string name;
  double worst, bound, at;
};
std::vector<Sweep> sweeps_of_double();
std::vector<Sweep> sweeps_of_float();
// Functions of two numbers that are exact: fmod, remainder, nextafter and their like. The names of
// those that differ from the host's anywhere.
std::vector<std::string> differing_exact_functions();

// Names of conversions, operators and functions of small types that differ from the host's
// arithmetic for any of the 65536 or 256 codes.
std::vector<std::string> differing_half();
std::vector<std::string> differing_bfloat16();
std::vector<std::string> differing_fp8();
std::vector<std::string> differing_vector_types();

// Conversions that differ from the host's in a direction of rounding, and functions of complex
// numbers that do.
std::vector<std::string> differing_roundings();
std::vector<std::string> differing_complex();

// Names of features whose result is not the one that was expected; recursion is one if asked for.
std::vector<std::string> wrong_features(bool recursive);
std::vector<std::string> wrong_groups();
std::vector<std::string> wrong_shared();
std::vector<std::string> wrong_hipcub();

// What kernels print, and launches that an assertion or abort() ends.
void print_everything();
void print_in_order();
int launch_with_assertion(int value);
int launch_with_abort();

}  // namespace hip_language
