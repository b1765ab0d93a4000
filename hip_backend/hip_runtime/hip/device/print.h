// printf, assert and abort of a kernel. The value of printf is 0.
#pragma once

#include <type_traits>

#include "print_buffer.h"

extern "C" {
__attribute__((device, weak)) mla_hip::PrintBuffer* __mla_print_buffer;
}

namespace mla_hip {

// Where the bytes of a packet stand; null if they do not fit.
__device__ inline char* packet(std::uint64_t message, std::uint32_t kind, std::uint64_t size) {
  PrintBuffer* const buffer = __mla_print_buffer;
  const std::uint64_t whole = sizeof(PrintPacket) + (size + 7) / 8 * 8;
  const std::uint64_t at =
      __hip_atomic_fetch_add(&buffer->used, whole, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  if (at + whole > buffer->limit) {
    __hip_atomic_fetch_add(&buffer->dropped, std::uint64_t{1}, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_SYSTEM);
    return nullptr;
  }
  auto* const out = reinterpret_cast<PrintPacket*>(reinterpret_cast<char*>(buffer) + at);
  out->message = message;
  out->kind = kind;
  out->size = static_cast<std::uint32_t>(size);
  return reinterpret_cast<char*>(out + 1);
}
__device__ inline std::uint64_t begin_message() {
  return __hip_atomic_fetch_add(&__mla_print_buffer->messages, std::uint64_t{1}, __ATOMIC_RELAXED,
                                __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline void leave_text(std::uint64_t message, std::uint32_t kind, const char* text) {
  if (text == nullptr) text = "(null)";
  std::uint64_t size = 0;
  while (text[size] != 0) ++size;
  char* const out = packet(message, kind, size);
  if (out == nullptr) return;
  for (std::uint64_t k = 0; k < size; ++k) out[k] = text[k];
}
template <class T>
__device__ inline void leave_argument(std::uint64_t message, T value) {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Plain, const char*> || std::is_same_v<Plain, char*>) {
    leave_text(message, print_text, value);
  } else {
    static_assert(std::is_scalar_v<Plain> || std::is_convertible_v<Plain, double>,
                  "an argument of printf is a number, a pointer or a string");
    std::uint64_t bits = 0;
    if constexpr (std::is_pointer_v<Plain>) {
      bits = reinterpret_cast<std::uint64_t>(value);
    } else if constexpr (std::is_integral_v<Plain> || std::is_enum_v<Plain>) {
      bits = static_cast<std::uint64_t>(value);
    } else if constexpr (!std::is_null_pointer_v<Plain>) {
      bits = __builtin_bit_cast(std::uint64_t, static_cast<double>(value));
    }
    char* const out = packet(message, print_number, sizeof bits);
    if (out != nullptr) *reinterpret_cast<std::uint64_t*>(out) = bits;
  }
}

}  // namespace mla_hip

template <class... Arguments>
__device__ inline int printf(const char* format, Arguments... arguments) {
  const std::uint64_t message = mla_hip::begin_message();
  mla_hip::leave_text(message, mla_hip::print_format, format);
  (mla_hip::leave_argument(message, arguments), ...);
  return 0;
}

extern "C" {
// The launch fails, and says what was left here.
__device__ __attribute__((noinline, weak)) inline void __assert_fail(
    const char* assertion, const char* file, unsigned line, const char* function) noexcept {
  const std::uint64_t message = mla_hip::begin_message();
  for (const char* text : {file, function, assertion})
    mla_hip::leave_text(message, mla_hip::print_assertion, text);
  mla_hip::leave_argument(message, line);
  __builtin_trap();
}
__device__ __attribute__((noinline, weak)) inline void abort() noexcept {
  __builtin_trap();
}
}
__device__ inline void __trap() {
  __builtin_trap();
}
