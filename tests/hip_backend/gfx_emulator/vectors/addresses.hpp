// Owns: the ways in which FLAT, GLOBAL and MUBUF name a place in memory for each lane.
#pragma once

#include <functional>

#include "memory_model.hpp"

namespace gfx_test {

// Registers of memory vectors.
constexpr unsigned memory_address = vgpr + 10, memory_data = vgpr + 12, memory_result = vgpr + 20;

struct Address {
  std::string prefix;  // "global_"
  std::string note;
  std::array<u32, lanes> at = {};       // byte offset in memory
  std::size_t limit = ~std::size_t{0};  // what a buffer ends at: reads zero, is not written
  u64 exec = ~u64{0};
  std::function<void(State&)> prepare;
  std::function<Words(unsigned op, unsigned dst, unsigned data, bool returns, bool lds)> encode;
  [[nodiscard]] bool active(unsigned l) const { return (exec >> l & 1) != 0; }
};

// Every lane has `step` bytes of its own, in an order of their own; `one_place`: also a form in
// which all lanes have the same.
struct AddressOptions {
  unsigned step = 16;
  bool one_place = false;
};
[[nodiscard]] std::vector<Address> all_addresses(const AddressOptions& options);

// A vector with 8 KiB of random memory.
[[nodiscard]] Vector memory_vector(const Op& op, const Address& address);

}  // namespace gfx_test
