#include "tests/hip_backend/aiter/installed.hpp"

#include <cstdio>
#include <cstdlib>

namespace mla::hip::aiter::test {

std::shared_ptr<Installation> installed(int& exit) {
  const char* directory = std::getenv("AITER_HSA");
  if (directory == nullptr || *directory == '\0') {
    std::puts("skipped: AITER_HSA does not name the directory hsa of an AITER installation");
    exit = 10;
    return nullptr;
  }
  auto installation = Installation::open(directory);
  if (installation) return std::move(*installation);
  std::puts(installation.error().message.c_str());
  exit = 3;
  return nullptr;
}

}  // namespace mla::hip::aiter::test
