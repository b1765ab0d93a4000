// Errors: their names, their texts, and the last one.
#include <utility>

#include "hip_backend/hip_runtime/state.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

struct ErrorText {
  hipError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
#define MLA_ERROR_TEXT(name, number, text) {name, #name, text},
    MLA_HIP_ERRORS(MLA_ERROR_TEXT)
#undef MLA_ERROR_TEXT
};
const ErrorText& text_of(hipError_t error) {
  static constexpr ErrorText kUnknown = {hipErrorUnknown, "hipErrorUnknown", "unknown error"};
  for (const ErrorText& known : kErrors)
    if (known.error == error) return known;
  return kUnknown;
}

// A number that is no error is an invalid value; "unknown error" is one.
hipError_t known(hipError_t error) {
  return text_of(error).error == error ? hipSuccess : keep(hipErrorInvalidValue);
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

const char* hipGetErrorName(hipError_t error) {
  const rt::Turn turn;
  return rt::text_of(error).name;
}
const char* hipGetErrorString(hipError_t error) {
  const rt::Turn turn;
  return rt::text_of(error).text;
}
hipError_t hipDrvGetErrorName(hipError_t error, const char** name) {
  const rt::Turn turn;
  if (name == nullptr) return rt::keep(hipErrorInvalidValue);
  return *name = rt::text_of(error).name, rt::known(error);
}
hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
  const rt::Turn turn;
  if (text == nullptr) return rt::keep(hipErrorInvalidValue);
  return *text = rt::text_of(error).text, rt::known(error);
}
hipError_t hipGetLastError() {
  const rt::Turn turn;
  if (rt::last_error() == rt::runtime().faulted) rt::runtime().faulted = hipSuccess;
  return std::exchange(rt::last_error(), hipSuccess);
}
hipError_t hipPeekAtLastError() {
  return rt::last_error();
}
hipError_t hipExtGetLastError() {
  return hipGetLastError();
}

}  // extern "C"
