// Variables of the device.
#include "core/say.hpp"
#include "hip_backend/hip_runtime/managed.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

// Empty if no code object registered it.
std::span<std::byte> variable_of(const void* symbol) {
  if (const auto managed = managed_at(symbol); !managed.empty()) return managed;
  const auto found = runtime().variables.find(symbol);
  if (found == runtime().variables.end()) return {};
  return found->second.unit->variable(found->second.name);
}

// Where `bytes` from `offset` on of a variable of the device are; null if it has not so many.
std::byte* in_variable(const void* symbol, std::size_t offset, std::size_t bytes) {
  const std::span<std::byte> variable = variable_of(symbol);
  if (variable.empty()) {
    fault(hipErrorInvalidSymbol, "a variable was named that no code object registered");
    return nullptr;
  }
  const std::size_t size = variable.size();
  if (offset <= size && bytes <= size - offset) return variable.data() + offset;
  fault(hipErrorInvalidValue, say(bytes, " bytes from byte ", offset,
                                  " on reach past the end of a variable of ", size, " bytes"));
  return nullptr;
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  const rt::Turn turn;
  if (address == nullptr) return rt::keep(hipErrorInvalidValue);
  *address = rt::in_variable(symbol, 0, 0);
  return *address == nullptr ? rt::last_error() : hipSuccess;
}
hipError_t hipGetSymbolSize(std::size_t* bytes, const void* symbol) {
  const rt::Turn turn;
  if (bytes == nullptr) return rt::keep(hipErrorInvalidValue);
  if (rt::in_variable(symbol, 0, 0) == nullptr) return rt::last_error();
  return *bytes = rt::variable_of(symbol).size(), hipSuccess;
}
hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                  std::size_t offset, hipMemcpyKind, hipStream_t stream) {
  const rt::Turn turn;
  std::byte* const to = rt::in_variable(symbol, offset, bytes);
  if (to == nullptr) return rt::last_error();
  return rt::submit(stream, rt::linear_copy(to, from, bytes, hipMemcpyDefault));
}
hipError_t hipMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                    std::size_t offset, hipMemcpyKind, hipStream_t stream) {
  const rt::Turn turn;
  const std::byte* const from = rt::in_variable(symbol, offset, bytes);
  if (from == nullptr) return rt::last_error();
  return rt::submit(stream, rt::linear_copy(to, from, bytes, hipMemcpyDefault));
}
hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                             std::size_t offset, hipMemcpyKind kind) {
  const rt::Turn turn;
  return rt::waited(hipMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr));
}
hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                               hipMemcpyKind kind) {
  const rt::Turn turn;
  return rt::waited(hipMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr));
}

}  // extern "C"
