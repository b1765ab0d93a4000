// What a Result holds ends with it: no pointer into one that ends with the statement.
#include <string>

#include "core/result.hpp"

namespace {
mla::Result<std::string> read() {
  return std::string("a");
}
}  // namespace

int main() {
#ifdef MLA_BREAK
  return static_cast<int>(read()->size());
#else
  const std::string& kept = *read();  // a value, which lives as long as its name
  return static_cast<int>(kept.size() - (*read()).size());
#endif
}
