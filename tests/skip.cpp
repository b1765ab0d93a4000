#include "tests/skip.hpp"

#include <algorithm>

namespace mla::test {
namespace {

std::vector<std::string>& reasons() {
  static std::vector<std::string> list;
  return list;
}

}  // namespace

void skip(const std::string& reason) {
  if (std::find(reasons().begin(), reasons().end(), reason) == reasons().end())
    reasons().push_back(reason);
}

const std::vector<std::string>& skips() {
  return reasons();
}

}  // namespace mla::test
