// What a program asks of the one device and sets of it, contexts, and what is known of memory.
#include <cstring>

#include "device_word.hpp"

namespace hip = mla::hip_runtime;

TEST_CASE("the one device is found by its bus, its UUID and its properties") {
  char bus[32] = {};
  int device = 5;
  REQUIRE(hipDeviceGetPCIBusId(bus, sizeof bus, 0) == hipSuccess);
  REQUIRE(hipDeviceGetByPCIBusId(&device, bus) == hipSuccess);
  CHECK(device == 0);
  (void)hip::take_launched();
  CHECK(hipDeviceGetByPCIBusId(&device, "0000:03:00.0") == hipErrorInvalidValue);
  CHECK(hip::take_launched().faults ==
        std::vector<std::string>{"hipDeviceGetByPCIBusId: no device is at '0000:03:00.0'; the "
                                 "emulated one is at 0000:00:00.0"});
  hipDeviceProp_t properties;
  REQUIRE(hipGetDeviceProperties(&properties, 0) == hipSuccess);
  hipUUID uuid = {};
  REQUIRE(hipDeviceGetUuid(&uuid, 0) == hipSuccess);
  CHECK(std::string(uuid.bytes) == "mla-emul-" MLA_ARCH);
  CHECK(std::memcmp(uuid.bytes, properties.uuid.bytes, sizeof uuid.bytes) == 0);
  CHECK(hipDeviceGetUuid(&uuid, 1) == hipErrorInvalidDevice);
  device = 5;
  REQUIRE(hipChooseDevice(&device, &properties) == hipSuccess);
  CHECK(device == 0);
  CHECK(properties.arch.hasDoubles == 1);
  CHECK(properties.arch.hasDynamicParallelism == 0);
  const std::pair<hipDeviceAttribute_t, int> attributes[] = {
      {hipDeviceAttributeWallClockRate, 100000},
      {hipDeviceAttributeWarpSize, 64},
      {hipDeviceAttributeConcurrentKernels, 1},
      {hipDeviceAttributeMaxGridDimX, 2147483647},
      {hipDeviceAttributeTotalGlobalMem, 2147483647},  // it has more than an int holds
      {hipDeviceAttributeImageSupport, 0},
      {hipDeviceAttributeMemoryPoolsSupported, 1}};
  for (const auto& [attribute, expected] : attributes) {
    int value = -1;
    REQUIRE(hipDeviceGetAttribute(&value, attribute, 0) == hipSuccess);
    CHECK(value == expected);
  }
  int value = 0;
  CHECK(hipDeviceGetP2PAttribute(&value, hipDevP2PAttrAccessSupported, 0, 1) ==
        hipErrorInvalidDevice);
  (void)hip::take_launched();
  (void)hipGetLastError();
}

TEST_CASE("limits are given back as they were set, and there is no heap") {
  std::size_t value = 0;
  REQUIRE(hipDeviceSetLimit(hipLimitStackSize, 4096) == hipSuccess);
  REQUIRE(hipDeviceGetLimit(&value, hipLimitStackSize) == hipSuccess);
  CHECK(value == 4096);
  CHECK(hipDeviceSetLimit(hipLimitStackSize, std::size_t{1} << 20) == hipErrorInvalidValue);
  REQUIRE(hipDeviceSetLimit(hipLimitPrintfFifoSize, 1 << 16) == hipSuccess);
  REQUIRE(hipDeviceGetLimit(&value, hipLimitPrintfFifoSize) == hipSuccess);
  CHECK(value == 1 << 16);
  REQUIRE(hipDeviceGetLimit(&value, hipLimitMallocHeapSize) == hipSuccess);
  CHECK(value == 0);
  (void)hip::take_launched();
  CHECK(hipDeviceSetLimit(hipLimitMallocHeapSize, 1024) == hipErrorNotSupported);
  CHECK(hip::take_launched().faults ==
        std::vector<std::string>{"hipDeviceSetLimit: a heap of 1024 bytes; kernels have no "
                                 "malloc() here, and no heap"});
  CHECK(hipDeviceGetLimit(&value, hipLimitRange) == hipErrorUnsupportedLimit);
  CHECK(hipDeviceGetLimit(nullptr, hipLimitStackSize) == hipErrorInvalidValue);
  hipFuncCache_t cache = hipFuncCachePreferL1;
  hipSharedMemConfig banks = hipSharedMemBankSizeEightByte;
  REQUIRE(hipDeviceSetCacheConfig(cache) == hipSuccess);
  REQUIRE(hipDeviceGetCacheConfig(&cache) == hipSuccess);
  CHECK(cache == hipFuncCachePreferNone);
  REQUIRE(hipDeviceSetSharedMemConfig(banks) == hipSuccess);
  REQUIRE(hipDeviceGetSharedMemConfig(&banks) == hipSuccess);
  CHECK(banks == hipSharedMemBankSizeFourByte);
  CHECK(hipDeviceSetCacheConfig(static_cast<hipFuncCache_t>(9)) == hipErrorInvalidValue);
  CHECK(hipProfilerStart() == hipErrorNotSupported);
  CHECK(hipProfilerStop() == hipErrorNotSupported);
  (void)hip::take_launched();
  const char* text = nullptr;
  REQUIRE(hipDrvGetErrorName(hipErrorUnsupportedLimit, &text) == hipSuccess);
  CHECK(std::string(text) == "hipErrorUnsupportedLimit");
  REQUIRE(hipDrvGetErrorString(hipErrorOutOfMemory, &text) == hipSuccess);
  CHECK(std::string(text) == "out of memory");
  CHECK(hipDrvGetErrorName(static_cast<hipError_t>(12345), &text) == hipErrorInvalidValue);
  CHECK(hipDrvGetErrorName(hipSuccess, nullptr) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("contexts are pushed and popped, and one that was destroyed is none") {
  hipCtx_t primary = nullptr, made = nullptr, current = nullptr;
  REQUIRE(hipDevicePrimaryCtxRetain(&primary, 0) == hipSuccess);
  REQUIRE(hipCtxGetCurrent(&current) == hipSuccess);
  CHECK(current == primary);
  REQUIRE(hipCtxCreate(&made, hipDeviceScheduleSpin, 0) == hipSuccess);
  REQUIRE(hipCtxGetCurrent(&current) == hipSuccess);
  CHECK(current == made);
  unsigned flags = 0;
  REQUIRE(hipCtxGetFlags(&flags) == hipSuccess);
  CHECK(flags == hipDeviceScheduleSpin);
  REQUIRE(hipCtxPushCurrent(primary) == hipSuccess);
  REQUIRE(hipCtxPopCurrent(&current) == hipSuccess);
  CHECK(current == primary);
  REQUIRE(hipCtxGetCurrent(&current) == hipSuccess);
  CHECK(current == made);
  REQUIRE(hipCtxSetCurrent(made) == hipSuccess);
  hipDevice_t device = 3;
  REQUIRE(hipCtxGetDevice(&device) == hipSuccess);
  CHECK(device == 0);
  REQUIRE(hipCtxSynchronize() == hipSuccess);
  unsigned version = 0;
  REQUIRE(hipCtxGetApiVersion(made, &version) == hipSuccess);
  CHECK(version > 0);
  REQUIRE(hipCtxDestroy(made) == hipSuccess);
  (void)hip::take_launched();
  CHECK(hipCtxPushCurrent(made) == hipErrorInvalidContext);
  CHECK(hipCtxDestroy(primary) == hipErrorInvalidContext);
  CHECK(hip::take_launched().faults.front() ==
        "hipCtxPushCurrent: this is no context, or it was destroyed");
  CHECK(hipCtxPopCurrent(&current) == hipErrorInvalidContext);
  int active = 0;
  REQUIRE(hipDevicePrimaryCtxSetFlags(0, hipDeviceScheduleYield) == hipSuccess);
  REQUIRE(hipDevicePrimaryCtxGetState(0, &flags, &active) == hipSuccess);
  CHECK(active == 1);
  CHECK(flags == hipDeviceScheduleYield);
  REQUIRE(hipDevicePrimaryCtxSetFlags(0, 0) == hipSuccess);
  REQUIRE(hipDevicePrimaryCtxRelease(0) == hipSuccess);
  REQUIRE(hipDevicePrimaryCtxGetState(0, &flags, &active) == hipSuccess);
  CHECK(active == 0);
  CHECK(hipDevicePrimaryCtxRelease(0) == hipErrorInvalidContext);
  CHECK(hipCtxCreate(&made, 0, 1) == hipErrorInvalidDevice);
  CHECK(hipCtxEnablePeerAccess(primary, 0) == hipErrorInvalidDevice);
  (void)hip::take_launched();
  (void)hipGetLastError();
}

TEST_CASE("of memory the range, the flags and the advice are known") {
  void* pinned = nullptr;
  REQUIRE(hipHostMalloc(&pinned, 100, hipHostMallocMapped | hipHostMallocPortable) == hipSuccess);
  unsigned flags = 0;
  REQUIRE(hipHostGetFlags(&flags, static_cast<char*>(pinned) + 99) == hipSuccess);
  CHECK(flags == (hipHostMallocMapped | hipHostMallocPortable));
  int words[4] = {};
  REQUIRE(hipHostRegister(words, sizeof words, hipHostRegisterPortable) == hipSuccess);
  REQUIRE(hipHostGetFlags(&flags, words) == hipSuccess);
  CHECK(flags == hipHostRegisterPortable);
  REQUIRE(hipHostUnregister(words) == hipSuccess);
  CHECK(hipHostGetFlags(&flags, words) == hipErrorInvalidValue);
  char *device = nullptr, *managed = nullptr;
  void* rows = nullptr;
  std::size_t pitch = 0;
  REQUIRE(hipMemAllocPitch(&rows, &pitch, 300, 2, 4) == hipSuccess);
  CHECK(pitch == 512);
  REQUIRE(hipFree(rows) == hipSuccess);
  CHECK(hipMemAllocPitch(&rows, &pitch, 300, 2, 3) == hipErrorInvalidValue);
  REQUIRE(hipMemAllocHost(&rows, 8) == hipSuccess);
  REQUIRE(hipHostFree(rows) == hipSuccess);
  CHECK(hipExtMallocWithFlags(&rows, 8, 9) == hipErrorInvalidValue);
  REQUIRE(hipMalloc(&device, 1000) == hipSuccess);
  REQUIRE(hipMallocManaged(&managed, 64) == hipSuccess);
  CHECK(hipHostGetFlags(&flags, device) == hipErrorInvalidValue);
  void* base = nullptr;
  std::size_t bytes = 0;
  REQUIRE(hipMemGetAddressRange(&base, &bytes, device + 999) == hipSuccess);
  CHECK(base == device);
  CHECK(bytes == 1000);
  CHECK(hipMemGetAddressRange(&base, &bytes, &flags) == hipErrorInvalidValue);
  REQUIRE(hipMemPtrGetInfo(device, &bytes) == hipSuccess);
  CHECK(hipMemPtrGetInfo(device + 1, &bytes) == hipErrorInvalidValue);
  hipMemoryType type{};
  REQUIRE(hipPointerGetAttribute(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, pinned) == hipSuccess);
  CHECK(type == hipMemoryTypeHost);
  REQUIRE(hipPointerGetAttribute(&bytes, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, device + 5) ==
          hipSuccess);
  CHECK(bytes == 1000);
  bool is_managed = false;
  REQUIRE(hipPointerGetAttribute(&is_managed, HIP_POINTER_ATTRIBUTE_IS_MANAGED, managed) ==
          hipSuccess);
  CHECK(is_managed);
  CHECK(hipPointerGetAttribute(&bytes, HIP_POINTER_ATTRIBUTE_BUFFER_ID, device) ==
        hipErrorNotSupported);

  const auto asked = [&](hipMemRangeAttribute attribute) {
    int value = -9;
    REQUIRE(hipMemRangeGetAttribute(&value, sizeof value, attribute, managed, 64) == hipSuccess);
    return value;
  };
  CHECK(asked(hipMemRangeAttributePreferredLocation) == hipInvalidDeviceId);
  REQUIRE(hipMemAdvise(managed, 64, hipMemAdviseSetPreferredLocation, 0) == hipSuccess);
  REQUIRE(hipMemAdvise(managed, 64, hipMemAdviseSetReadMostly, 0) == hipSuccess);
  REQUIRE(hipMemAdvise(managed, 64, hipMemAdviseSetAccessedBy, hipCpuDeviceId) == hipSuccess);
  REQUIRE(hipMemPrefetchAsync(managed, 64, hipCpuDeviceId) == hipSuccess);
  CHECK(asked(hipMemRangeAttributePreferredLocation) == 0);
  CHECK(asked(hipMemRangeAttributeReadMostly) == 1);
  CHECK(asked(hipMemRangeAttributeLastPrefetchLocation) == hipCpuDeviceId);
  CHECK(asked(hipMemRangeAttributeCoherencyMode) == hipMemRangeCoherencyModeFineGrain);
  int list[2] = {}, read_mostly = 5;
  void* values[] = {list, &read_mostly};
  std::size_t sizes[] = {sizeof list, sizeof read_mostly};
  hipMemRangeAttribute both[] = {hipMemRangeAttributeAccessedBy, hipMemRangeAttributeReadMostly};
  REQUIRE(hipMemRangeGetAttributes(values, sizes, both, 2, managed, 64) == hipSuccess);
  CHECK(list[0] == hipCpuDeviceId);
  CHECK(list[1] == hipInvalidDeviceId);
  CHECK(read_mostly == 1);
  REQUIRE(hipMemAdvise(managed, 64, hipMemAdviseUnsetReadMostly, 0) == hipSuccess);
  CHECK(asked(hipMemRangeAttributeReadMostly) == 0);
  CHECK(hipMemRangeGetAttribute(list, 8, hipMemRangeAttributeReadMostly, managed, 64) ==
        hipErrorInvalidValue);
  CHECK(hipMemRangeGetAttribute(list, 4, hipMemRangeAttributeReadMostly, managed, 65) ==
        hipErrorInvalidValue);
  CHECK(hipMemAdvise(managed, 64, static_cast<hipMemoryAdvise>(50), 0) == hipErrorInvalidValue);
  REQUIRE(hipStreamAttachMemAsync(nullptr, managed) == hipSuccess);
  CHECK(hipStreamAttachMemAsync(nullptr, device) == hipErrorInvalidValue);
  CHECK(hipStreamAttachMemAsync(nullptr, managed, 0, 9) == hipErrorInvalidValue);
  for (void* const pointer : {pinned, static_cast<void*>(device), static_cast<void*>(managed)})
    REQUIRE(hipFree(pointer) == hipSuccess);
  (void)hip::take_launched();
  (void)hipGetLastError();
}

TEST_CASE("a stream writes words and waits for what is there, and has a mask of units") {
  hip_program::DeviceWord word;
  hipStream_t stream = nullptr;
  REQUIRE(hipStreamCreate(&stream) == hipSuccess);
  REQUIRE(hipStreamWriteValue32(stream, word.address(), 12, 0) == hipSuccess);
  CHECK(word.value() == 12);
  const auto waits = [&](std::uint32_t value, unsigned condition, std::uint32_t mask = ~0U) {
    return hipStreamWaitValue32(stream, word.address(), value, condition, mask);
  };
  CHECK(waits(12, hipStreamWaitValueGte) == hipSuccess);
  CHECK(waits(12, hipStreamWaitValueEq) == hipSuccess);
  CHECK(waits(4, hipStreamWaitValueEq, 4) == hipSuccess);
  CHECK(waits(6, hipStreamWaitValueAnd) == hipSuccess);           // one bit of two is enough
  CHECK(waits(0xfffffff0, hipStreamWaitValueGte) == hipSuccess);  // numbers go round in a circle
  CHECK(waits(3, hipStreamWaitValueNor) == hipSuccess);
  (void)hip::take_launched();
  CHECK(waits(13, hipStreamWaitValueGte) == hipErrorNotSupported);
  CHECK(waits(3, hipStreamWaitValueAnd) == hipErrorNotSupported);
  CHECK(waits(~12U, hipStreamWaitValueNor) == hipErrorNotSupported);
  CHECK(hip::take_launched().faults.front() ==
        "hipStreamWaitValue32: the value is 12 (mask 4294967295), and condition 0 with 13 does not "
        "hold; each call is done when it returns here, so that the value has to be written before");
  CHECK(waits(1, 4) == hipErrorInvalidValue);
  CHECK(hipStreamWriteValue32(stream, &stream, 1, 0) == hipErrorInvalidValue);
  CHECK(hipStreamWriteValue64(stream, word.address(), 1, 0) == hipErrorInvalidValue);
  std::uint64_t* wide = nullptr;
  REQUIRE(hipMallocManaged(&wide, 8) == hipSuccess);
  REQUIRE(hipStreamWriteValue64(stream, wide, std::uint64_t{1} << 40, 0) == hipSuccess);
  CHECK(*wide == std::uint64_t{1} << 40);
  CHECK(hipStreamWaitValue64(stream, wide, 1, hipStreamWaitValueGte) == hipSuccess);
  REQUIRE(hipFree(wide) == hipSuccess);
  unsigned long long id = 0, other = 0;
  REQUIRE(hipStreamGetId(stream, &id) == hipSuccess);
  REQUIRE(hipStreamGetId(nullptr, &other) == hipSuccess);
  CHECK(id != other);
  REQUIRE(hipStreamDestroy(stream) == hipSuccess);

  hip::set_device({.units = 40});
  const std::uint32_t mask[] = {0xf0, 0xffff};
  std::uint32_t seen[2] = {};
  REQUIRE(hipExtStreamCreateWithCUMask(&stream, 2, mask) == hipSuccess);
  REQUIRE(hipExtStreamGetCUMask(stream, 2, seen) == hipSuccess);
  CHECK(seen[0] == 0xf0);
  CHECK(seen[1] == 0xff);  // of 40 units
  REQUIRE(word.step(1, 1, stream) == hipSuccess);
  CHECK(word.value() == 13);
  REQUIRE(hipExtStreamGetCUMask(nullptr, 2, seen) == hipSuccess);
  CHECK(seen[0] == ~0U);
  CHECK(hipExtStreamGetCUMask(stream, 1, seen) == hipErrorInvalidValue);
  REQUIRE(hipStreamDestroy(stream) == hipSuccess);
  CHECK(hipExtStreamCreateWithCUMask(&stream, 0, mask) == hipErrorInvalidValue);
  hip::set_device({});
  (void)hip::take_launched();
  (void)hipGetLastError();
}
