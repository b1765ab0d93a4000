// How a kernel's printf reaches the host: packets one after the other in memory that the runtime
// reads after the launch. Both sides include it.
#pragma once

#include <cstdint>

namespace mla_hip {

// The runtime sets the variable __mla_print_buffer of each code object that has one to its address.
struct PrintBuffer {
  std::uint64_t used, limit;        // bytes from here on, with this structure
  std::uint64_t messages, dropped;  // so many began; so many packets did not fit
};
// Then `size` bytes, and what is missing to a multiple of 8. A message is a format and its
// arguments, or the four parts of an assertion; its packets have its number.
struct PrintPacket {
  std::uint64_t message;
  std::uint32_t kind, size;
};
enum : std::uint32_t { print_format, print_text, print_number, print_assertion };

}  // namespace mla_hip
