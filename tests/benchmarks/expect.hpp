// expect: the value of a benchmark's own input, whose failure ends the program with exit code 2.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/result.hpp"

namespace mla {

template <class T>
T expect(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(2);
}

}  // namespace mla
