// Owns: memory as references see it (bytes, little-endian), and what the atomics compute.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "reference.hpp"
#include "vector.hpp"

namespace gfx_test {

template <class T>
T peek(const std::vector<u32>& memory, std::size_t at) {
  T out{};
  std::memcpy(&out, reinterpret_cast<const char*>(memory.data()) + at, sizeof out);
  return out;
}
template <class T>
void poke(std::vector<u32>& memory, std::size_t at, T value) {
  std::memcpy(reinterpret_cast<char*>(memory.data()) + at, &value, sizeof value);
}

// What stands in memory afterwards, from what stood there, the data and the second data.
struct Atomic {
  std::string name;  // without encoding and type size
  unsigned size = 4;
  bool two = false;  // takes a second operand
  Compare compare = Compare::bits;
  std::vector<u64> only = {};  // values to try instead of edges of `type`
  Type type = Type::u32;
  std::function<u64(u64 memory, u64 data, u64 second)> run;
};

// The integer operations by their DS and their global names, both sizes; then the floats.
struct AtomicNames {
  std::string ds, global;
  Atomic atomic;
};
[[nodiscard]] std::vector<AtomicNames> all_atomics();

}  // namespace gfx_test
