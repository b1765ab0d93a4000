// Words of memory that a stream waits for or writes, and which compute units it may use.
#include <cstring>
#include <limits>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/memory.hpp"
#include "hip_backend/hip_runtime/stream.hpp"
#include "hip_backend/hip_runtime/stream_races.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

// Refuses a word that a stream cannot reach, and one while the stream is captured.
template <class T>
hipError_t refuse(const char* call, hipStream_t stream, void* pointer) {
  if (capture_of(stream))
    return fault(hipErrorStreamCaptureUnsupported, say(call, ": graphs have no nodes for it here"));
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address % sizeof(T) != 0 || side_of(pointer, sizeof(T)) != Side::device)
    return fault(hipErrorInvalidValue,
                 say(call, ": expected ", sizeof(T), " aligned bytes of memory of the device, ",
                     "or of the host that is registered"));
  return hipSuccess;
}

// Who waits for a value comes after who wrote it, as with atomics of kernels.
void order_value(hipStream_t stream, const void* pointer) {
  const OnStream on(order_of(stream));
  if (StreamRaces* const races = stream_races()) races->order_value(pointer);
}

template <class T>
hipError_t write_value(const char* call, hipStream_t stream, void* pointer, T value,
                       unsigned flags) {
  if (flags != 0) return keep(hipErrorInvalidValue);
  if (const auto bad = refuse<T>(call, stream, pointer)) return bad;
  order_value(stream, pointer);
  return std::memcpy(pointer, &value, sizeof value), hipSuccess;
}

template <class T>
bool holds(T found, T value, unsigned condition) {
  using Signed = std::make_signed_t<T>;
  switch (condition) {
    case hipStreamWaitValueGte:  // in a circle: what is at most half of it ahead
      return static_cast<Signed>(found - value) >= 0;
    case hipStreamWaitValueEq:
      return found == value;
    case hipStreamWaitValueAnd:
      return (found & value) != 0;
    default:
      return static_cast<T>(~(found | value)) != 0;
  }
}

template <class T>
hipError_t wait_value(const char* call, hipStream_t stream, void* pointer, T value,
                      unsigned condition, T mask) {
  if (condition > hipStreamWaitValueNor) return keep(hipErrorInvalidValue);
  if (const auto bad = refuse<T>(call, stream, pointer)) return bad;
  order_value(stream, pointer);
  T found = 0;
  std::memcpy(&found, pointer, sizeof found);
  if (holds<T>(found & mask, value, condition)) return hipSuccess;
  return fault(hipErrorNotSupported,
               say(call, ": the value is ", found, " (mask ", mask, "), and condition ", condition,
                   " with ", value, " does not hold; each call is done when it returns here, so ",
                   "that the value has to be written before"));
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipStreamWaitValue32(hipStream_t stream, void* pointer, std::uint32_t value,
                                unsigned flags, std::uint32_t mask) {
  const rt::Turn turn;
  return rt::wait_value("hipStreamWaitValue32", stream, pointer, value, flags, mask);
}
hipError_t hipStreamWaitValue64(hipStream_t stream, void* pointer, std::uint64_t value,
                                unsigned flags, std::uint64_t mask) {
  const rt::Turn turn;
  return rt::wait_value("hipStreamWaitValue64", stream, pointer, value, flags, mask);
}
hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer, std::uint32_t value,
                                 unsigned flags) {
  const rt::Turn turn;
  return rt::write_value("hipStreamWriteValue32", stream, pointer, value, flags);
}
hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer, std::uint64_t value,
                                 unsigned flags) {
  const rt::Turn turn;
  return rt::write_value("hipStreamWriteValue64", stream, pointer, value, flags);
}
hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, std::uint32_t words,
                                        const std::uint32_t* mask) {
  const rt::Turn turn;
  if (stream == nullptr || mask == nullptr || words == 0) return rt::keep(hipErrorInvalidValue);
  if (const auto bad = hipStreamCreate(stream)) return bad;
  return (*stream)->units.assign(mask, mask + words), hipSuccess;
}
// Without a mask of its own a stream has all units.
hipError_t hipExtStreamGetCUMask(hipStream_t stream, std::uint32_t words, std::uint32_t* mask) {
  const rt::Turn turn;
  const auto units = static_cast<std::uint32_t>(rt::runtime().compute_units());
  if (mask == nullptr || words < (units + 31) / 32) return rt::keep(hipErrorInvalidValue);
  const auto* const own = rt::named(stream);
  for (std::uint32_t k = 0; k < words; ++k) {
    const std::uint32_t first = 32 * k;
    std::uint32_t all = 0;
    if (first < units) all = units - first >= 32 ? ~0U : (1U << (units - first)) - 1;
    const bool whole = own == nullptr || own->units.empty();
    mask[k] = whole ? all : k < own->units.size() ? own->units[k] & all : 0;
  }
  return hipSuccess;
}

}  // extern "C"
