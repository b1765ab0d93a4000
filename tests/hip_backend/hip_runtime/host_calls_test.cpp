// Calls of the host that public HIP programs make, and what they refuse.
#include "hip_backend/hip_runtime/runtime.hpp"
#include "program.hpp"
#include "tests/catch.hpp"

namespace hip = mla::hip_runtime;

TEST_CASE("code under __HIP_PLATFORM_AMD__ is there on host and device, before any include") {
  REQUIRE(hip_program::platform_on_host());
  REQUIRE(hip_program::platform_on_device());
}

TEST_CASE("the size of a variable is known, and a stranger has none") {
  REQUIRE(hip_program::variable_size() == 32);
  REQUIRE(hip_program::size_of_a_stranger() == hipErrorInvalidSymbol);
  (void)hip::take_launched();
}

TEST_CASE("a launch without blocks is an invalid configuration, and says so") {
  (void)hip::take_launched();
  REQUIRE(hip_program::launch_no_blocks() == hipErrorInvalidConfiguration);
  const auto launched = hip::take_launched();
  REQUIRE(launched.launches == 0);
  REQUIRE(launched.faults.size() == 1);
  REQUIRE(launched.faults[0].find("a grid of 0 x 1 x 1 blocks") != std::string::npos);
}

TEST_CASE("waves and LDS limit the workgroups of a compute unit, as HIP counts them") {
  hipDeviceProp_t properties;
  REQUIRE(hipGetDeviceProperties(&properties, 0) == hipSuccess);
  const std::size_t all = properties.maxSharedMemoryPerMultiProcessor;
  REQUIRE(hip_program::blocks_on_a_unit(0) == 8);
  REQUIRE(hip_program::blocks_on_a_unit(all / 3) == 3);
  REQUIRE(hip_program::blocks_on_a_unit(all + 1) == 0);
}

TEST_CASE(
    "rows keep their bytes through memory with a pitch, and a row beyond a pitch is refused") {
  const std::vector<char> rows = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'};
  REQUIRE(hip_program::through_pitched_memory(rows) == rows);
  char bytes[16] = {};
  REQUIRE(hipMemcpy2D(bytes, 2, bytes, 4, 3, 2, hipMemcpyDefault) == hipErrorInvalidPitchValue);
  void* device = nullptr;
  REQUIRE(hipMalloc(&device, 8) == hipSuccess);
  REQUIRE(hipMemcpy2D(device, 4, bytes, 4, 4, 3, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  REQUIRE(hipFree(device) == hipSuccess);
  (void)hip::take_launched();
}

TEST_CASE("streams and events have the flags of their creation, and unknown flags are refused") {
  hipStream_t stream = nullptr;
  unsigned flags = 9;
  REQUIRE(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  REQUIRE(hipStreamGetFlags(stream, &flags) == hipSuccess);
  REQUIRE(flags == hipStreamNonBlocking);
  REQUIRE(hipStreamQuery(stream) == hipSuccess);
  REQUIRE(hipStreamDestroy(stream) == hipSuccess);
  REQUIRE(hipStreamCreateWithFlags(&stream, 2) == hipErrorInvalidValue);
  hipEvent_t event = nullptr;
  float milliseconds = -1;
  REQUIRE(hipEventCreateWithFlags(&event, hipEventDisableTiming) == hipSuccess);
  REQUIRE(hipEventRecord(event) == hipSuccess);
  REQUIRE(hipEventQuery(event) == hipSuccess);
  REQUIRE(hipEventElapsedTime(&milliseconds, event, event) == hipErrorInvalidHandle);
  REQUIRE(milliseconds == -1);
  REQUIRE(hipStreamWaitEvent(nullptr, event) == hipSuccess);
  REQUIRE(hipEventDestroy(event) == hipSuccess);
  REQUIRE(hipEventCreateWithFlags(&event, hipEventInterprocess) == hipErrorNotSupported);
  REQUIRE(hip::take_launched().faults.size() == 1);
}

TEST_CASE("memory is counted, host memory registers once, and a reset frees what was allocated") {
  std::size_t before = 0, after = 0, total = 0;
  REQUIRE(hipMemGetInfo(&before, &total) == hipSuccess);
  void* device = nullptr;
  REQUIRE(hipMalloc(&device, 1000) == hipSuccess);
  REQUIRE(hipMemGetInfo(&after, &total) == hipSuccess);
  REQUIRE(before - after == 1000);
  int words[4] = {};
  void* mapped = nullptr;
  REQUIRE(hipHostGetDevicePointer(&mapped, words, 0) == hipErrorInvalidValue);
  REQUIRE(hipHostRegister(words, sizeof words, hipHostRegisterDefault) == hipSuccess);
  REQUIRE(hipHostRegister(words, 4, 0) == hipErrorHostMemoryAlreadyRegistered);
  REQUIRE(hipHostGetDevicePointer(&mapped, words, 0) == hipSuccess);
  REQUIRE(mapped == words);
  REQUIRE(hipFree(words) == hipErrorInvalidValue);
  REQUIRE(hipHostUnregister(words) == hipSuccess);
  REQUIRE(hipHostUnregister(words) == hipErrorHostMemoryNotRegistered);
  REQUIRE(hipDeviceReset() == hipSuccess);
  REQUIRE(hipMemGetInfo(&after, &total) == hipSuccess);
  REQUIRE(after == total);
  REQUIRE(hipFree(device) == hipErrorInvalidValue);
}

TEST_CASE("a device has no peer, and an attribute without an answer is an error that says so") {
  (void)hip::take_launched();
  int value = 5;
  REQUIRE(hipDeviceCanAccessPeer(&value, 0, 0) == hipSuccess);
  REQUIRE(value == 0);
  REQUIRE(hipDeviceEnablePeerAccess(1, 0) == hipErrorInvalidDevice);
  REQUIRE(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxThreadsPerBlock, 0) == hipSuccess);
  REQUIRE(value == 1024);
  REQUIRE(hipDeviceGetAttribute(&value, hipDeviceAttributePciChipId, 0) == hipErrorNotSupported);
  REQUIRE(hip::take_launched().faults.size() == 2);
  REQUIRE(std::string(hipGetErrorName(hipErrorInvalidConfiguration)) ==
          "hipErrorInvalidConfiguration");
  (void)hipGetLastError();
}

TEST_CASE("a null pointer for an answer is an invalid value, and another device an invalid one") {
  const hipError_t found[] = {hipGetDevice(nullptr),
                              hipGetDeviceCount(nullptr),
                              hipGetDeviceProperties(nullptr, 0),
                              hipDeviceGetAttribute(nullptr, hipDeviceAttributeWarpSize, 0),
                              hipRuntimeGetVersion(nullptr),
                              hipDriverGetVersion(nullptr),
                              hipGetDeviceFlags(nullptr),
                              hipDeviceCanAccessPeer(nullptr, 0, 0),
                              hipDeviceGet(nullptr, 0)};
  for (const hipError_t error : found) REQUIRE(error == hipErrorInvalidValue);
  hipDevice_t device = 0;
  REQUIRE(hipDeviceGet(&device, 5) == hipErrorInvalidDevice);
  (void)hipGetLastError();
}

TEST_CASE("a copy of a kind that is none is refused with its number") {
  std::int32_t from = 1, to = 0;
  (void)hip::take_launched();
  REQUIRE(hipMemcpy(&to, &from, sizeof to, static_cast<hipMemcpyKind>(5)) ==
          hipErrorInvalidMemcpyDirection);
  REQUIRE(to == 0);
  REQUIRE(hip::take_launched().faults ==
          std::vector<std::string>{"hipMemcpy: the kind of copy is 5; expected 0 to 4"});
  (void)hipGetLastError();
}
