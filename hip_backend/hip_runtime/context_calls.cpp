// Contexts. There is one device; what a context would hold apart, all of them share: what is freed,
// unloaded or reset in one is so in the others.
#include <algorithm>
#include <memory>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace rt = mla::hip_runtime;

struct ihipCtx_t {
  unsigned flags = 0;
};

namespace mla::hip_runtime {
namespace {

struct Contexts {
  ihipCtx_t primary;
  int retained = 0;  // of the primary one
  std::vector<std::unique_ptr<ihipCtx_t>> made;
};
Contexts& contexts() {
  static Contexts all;
  return all;
}
// Of a thread: the last is the current one. Empty: the primary one.
std::vector<hipCtx_t>& stack() {
  thread_local std::vector<hipCtx_t> pushed;
  return pushed;
}

bool exists(hipCtx_t context) {
  const auto is_it = [&](const auto& one) { return one.get() == context; };
  return context == &contexts().primary ||
         std::any_of(contexts().made.begin(), contexts().made.end(), is_it);
}
hipError_t refuse(const char* call) {
  return fault(hipErrorInvalidContext, say(call, ": this is no context, or it was destroyed"));
}
// Flags as those of hipSetDeviceFlags().
bool flags_are_known(unsigned flags) {
  return (flags & ~unsigned{hipDeviceScheduleMask | hipDeviceMapHost}) == 0;
}
hipCtx_t current() {
  return stack().empty() ? &contexts().primary : stack().back();
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipCtxCreate(hipCtx_t* context, unsigned flags, hipDevice_t device) {
  const rt::Turn turn;
  if (context == nullptr || !rt::flags_are_known(flags)) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  rt::contexts().made.push_back(std::make_unique<ihipCtx_t>(ihipCtx_t{flags}));
  *context = rt::contexts().made.back().get();
  return rt::stack().push_back(*context), hipSuccess;
}
hipError_t hipCtxDestroy(hipCtx_t context) {
  const rt::Turn turn;
  if (context == &rt::contexts().primary || !rt::exists(context))
    return rt::refuse("hipCtxDestroy");
  std::erase(rt::stack(), context);
  std::erase_if(rt::contexts().made, [&](const auto& one) { return one.get() == context; });
  return hipSuccess;
}
hipError_t hipCtxPushCurrent(hipCtx_t context) {
  const rt::Turn turn;
  if (!rt::exists(context)) return rt::refuse("hipCtxPushCurrent");
  return rt::stack().push_back(context), hipSuccess;
}
hipError_t hipCtxPopCurrent(hipCtx_t* context) {
  const rt::Turn turn;
  if (rt::stack().empty()) return rt::keep(hipErrorInvalidContext);
  if (context != nullptr) *context = rt::stack().back();
  return rt::stack().pop_back(), hipSuccess;
}
// Null takes the current one away.
hipError_t hipCtxSetCurrent(hipCtx_t context) {
  const rt::Turn turn;
  if (context != nullptr && !rt::exists(context)) return rt::refuse("hipCtxSetCurrent");
  if (!rt::stack().empty()) rt::stack().pop_back();
  if (context != nullptr) rt::stack().push_back(context);
  return hipSuccess;
}
hipError_t hipCtxGetCurrent(hipCtx_t* context) {
  const rt::Turn turn;
  if (context == nullptr) return rt::keep(hipErrorInvalidValue);
  return *context = rt::current(), hipSuccess;
}
hipError_t hipCtxGetDevice(hipDevice_t* device) {
  return hipGetDevice(device);
}
hipError_t hipCtxGetFlags(unsigned* flags) {
  const rt::Turn turn;
  if (flags == nullptr) return rt::keep(hipErrorInvalidValue);
  if (!rt::exists(rt::current())) return rt::refuse("hipCtxGetFlags");
  return *flags = rt::current()->flags, hipSuccess;
}
hipError_t hipCtxSynchronize() {
  return hipDeviceSynchronize();
}
hipError_t hipCtxGetApiVersion(hipCtx_t context, unsigned* version) {
  const rt::Turn turn;
  if (version == nullptr) return rt::keep(hipErrorInvalidValue);
  if (context != nullptr && !rt::exists(context)) return rt::refuse("hipCtxGetApiVersion");
  return *version = 4, hipSuccess;  // ROCm's number, whatever the version
}
hipError_t hipCtxGetCacheConfig(hipFuncCache_t* config) {
  return hipDeviceGetCacheConfig(config);
}
hipError_t hipCtxSetCacheConfig(hipFuncCache_t config) {
  return hipDeviceSetCacheConfig(config);
}
hipError_t hipCtxGetSharedMemConfig(hipSharedMemConfig* config) {
  return hipDeviceGetSharedMemConfig(config);
}
hipError_t hipCtxSetSharedMemConfig(hipSharedMemConfig config) {
  return hipDeviceSetSharedMemConfig(config);
}
hipError_t hipCtxEnablePeerAccess(hipCtx_t, unsigned) {
  const rt::Turn turn;
  return rt::fault(hipErrorInvalidDevice,
                   "hipCtxEnablePeerAccess: there is one device, and no peer");
}
hipError_t hipCtxDisablePeerAccess(hipCtx_t) {
  const rt::Turn turn;
  return rt::fault(hipErrorInvalidDevice,
                   "hipCtxDisablePeerAccess: there is one device, and no peer");
}

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  const rt::Turn turn;
  if (context == nullptr) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  ++rt::contexts().retained;
  return *context = &rt::contexts().primary, hipSuccess;
}
hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  const rt::Turn turn;
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  if (rt::contexts().retained == 0) return rt::refuse("hipDevicePrimaryCtxRelease");
  return --rt::contexts().retained, hipSuccess;
}
// As hipDeviceReset().
hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) {
  return device == 0 ? hipDeviceReset() : rt::keep(hipErrorInvalidDevice);
}
hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags, int* active) {
  const rt::Turn turn;
  if (flags == nullptr || active == nullptr) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  *flags = rt::contexts().primary.flags;
  return *active = rt::contexts().retained > 0 ? 1 : 0, hipSuccess;
}
hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned flags) {
  const rt::Turn turn;
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  if (!rt::flags_are_known(flags)) return rt::keep(hipErrorInvalidValue);
  return rt::contexts().primary.flags = flags, hipSuccess;
}

}  // extern "C"
