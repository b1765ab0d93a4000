// Copies and fills in three dimensions and in other widths, and what is known of a pointer.
#include <algorithm>
#include <numeric>

#include "device_word.hpp"

namespace hip = mla::hip_runtime;

TEST_CASE("a box is copied out of memory with pitch and slices, and nothing beside it") {
  constexpr std::size_t x = 6, y = 4, z = 3;
  std::vector<unsigned char> host(x * y * z), back(x * y * z, 255);
  std::iota(host.begin(), host.end(), 0);
  hipPitchedPtr device{};
  REQUIRE(hipMalloc3D(&device, make_hipExtent(x, y, z)) == hipSuccess);
  CHECK(device.pitch == 256);
  hipMemcpy3DParms up = {};
  up.srcPtr = make_hipPitchedPtr(host.data(), x, x, y);
  up.dstPtr = device;
  up.extent = make_hipExtent(x, y, z);
  up.kind = hipMemcpyHostToDevice;
  REQUIRE(hipMemcpy3D(&up) == hipSuccess);
  hipMemcpy3DParms down = {};
  down.srcPtr = device;
  down.srcPos = make_hipPos(1, 2, 1);
  down.dstPtr = make_hipPitchedPtr(back.data(), x, x, y);
  down.dstPos = make_hipPos(0, 1, 2);
  down.extent = make_hipExtent(3, 2, 1);
  down.kind = hipMemcpyDeviceToHost;
  REQUIRE(hipMemcpy3D(&down) == hipSuccess);
  for (std::size_t k = 0; k < back.size(); ++k) {
    const std::size_t at_x = k % x, at_y = k / x % y, at_z = k / (x * y);
    const bool inside = at_x < 3 && at_y >= 1 && at_y < 3 && at_z == 2;
    INFO("byte " << k);
    CHECK(back[k] == (inside ? host[(at_z - 1) * x * y + (at_y + 1) * x + at_x + 1] : 255));
  }
  (void)hip::take_launched();
  down.srcPos = make_hipPos(0, 3, 2);  // the second row would be past the end
  down.srcPtr.ysize = y;
  CHECK(hipMemcpy3D(&down) == hipErrorInvalidValue);
  CHECK(hip::take_launched().faults.size() == 1);
  down.srcPos = make_hipPos(0, 0, 0);
  down.dstPtr.pitch = 2;
  CHECK(hipMemcpy3D(&down) == hipErrorInvalidPitchValue);
  REQUIRE(hipFree(device.ptr) == hipSuccess);
}

TEST_CASE("fills have the width of their elements, and stay in their rows") {
  std::uint32_t* device = nullptr;
  REQUIRE(hipMalloc(&device, 64) == hipSuccess);
  REQUIRE(hipMemset(device, 0, 64) == hipSuccess);
  REQUIRE(hipMemsetD32(device, 0x01020304, 2) == hipSuccess);
  REQUIRE(hipMemsetD16(device + 2, 0xabcd, 3) == hipSuccess);
  REQUIRE(hipMemsetD8(device + 4, 0x55, 2) == hipSuccess);
  REQUIRE(hipMemset2D(device + 8, 8, 0x77, 3, 2) == hipSuccess);
  std::uint32_t seen[16] = {};
  REQUIRE(hipMemcpyDtoH(seen, device, 64) == hipSuccess);
  const std::vector<std::uint32_t> expected = {
      0x01020304, 0x01020304, 0xabcdabcd, 0xabcd, 0x5555, 0, 0, 0,
      0x777777,   0,          0x777777,   0,      0,      0, 0, 0};
  CHECK(std::equal(expected.begin(), expected.end(), seen));
  CHECK(hipMemset2D(device, 2, 0, 3, 2) == hipErrorInvalidPitchValue);
  CHECK(hipMemset2D(device, std::size_t{1} << 63, 0, 3, 3) == hipErrorInvalidValue);
  CHECK(hipMemsetD32(device, 0, std::size_t{1} << 62) == hipErrorInvalidValue);
  (void)hip::take_launched();
  CHECK(hipMemsetD32(device, 0, 17) == hipErrorInvalidValue);
  CHECK(hip::take_launched().faults.size() == 1);
  REQUIRE(hipFree(device) == hipSuccess);
}

TEST_CASE("a pointer is the device's, registered memory of the host, or not known") {
  int words[4] = {};
  void* device = nullptr;
  REQUIRE(hipMalloc(&device, 16) == hipSuccess);
  REQUIRE(hipHostRegister(words, sizeof words, hipHostRegisterDefault) == hipSuccess);
  hipPointerAttribute_t attributes{};
  const auto type_of = [&](const void* pointer) {
    REQUIRE(hipPointerGetAttributes(&attributes, pointer) == hipSuccess);
    return attributes.type;
  };
  CHECK(type_of(static_cast<char*>(device) + 15) == hipMemoryTypeDevice);
  CHECK(attributes.devicePointer == static_cast<char*>(device) + 15);
  CHECK(type_of(words) == hipMemoryTypeHost);
  CHECK(type_of(&attributes) == hipMemoryTypeUnregistered);
  void *pinned = nullptr, *managed = nullptr;
  REQUIRE(hipHostMalloc(&pinned, 16) == hipSuccess);
  REQUIRE(hipMallocManaged(&managed, 16) == hipSuccess);
  CHECK(type_of(pinned) == hipMemoryTypeHost);
  CHECK(attributes.isManaged == 0);
  CHECK(type_of(static_cast<char*>(managed) + 15) == hipMemoryTypeManaged);
  CHECK(attributes.isManaged == 1);
  REQUIRE(hipHostFree(pinned) == hipSuccess);
  REQUIRE(hipFree(managed) == hipSuccess);
  CHECK(type_of(managed) == hipMemoryTypeUnregistered);
  REQUIRE(hipHostUnregister(words) == hipSuccess);
  REQUIRE(hipFree(device) == hipSuccess);
}

TEST_CASE("a kernel's attributes are those of its code, and dynamic LDS has a limit") {
  (void)hip::take_launched();
  hipFuncAttributes attributes{};
  REQUIRE(hipFuncGetAttributes(&attributes, hip_program::step_word()) == hipSuccess);
  CHECK(attributes.numRegs > 0);
  CHECK(attributes.maxThreadsPerBlock == 1024);
  CHECK(attributes.sharedSizeBytes == 4);
  const int most = attributes.maxDynamicSharedSizeBytes;
  CHECK(most == (std::string(MLA_ARCH) == "gfx950" ? 163836 : 65532));
  const auto set = [&](int bytes) {
    return hipFuncSetAttribute(hip_program::step_word(), hipFuncAttributeMaxDynamicSharedMemorySize,
                               bytes);
  };
  CHECK(set(most) == hipSuccess);
  CHECK(set(most + 1) == hipErrorInvalidValue);
  CHECK(hip::take_launched().faults.size() == 1);
  CHECK(hipFuncGetAttributes(&attributes, &attributes) == hipErrorInvalidDeviceFunction);
  (void)hip::take_launched();
}

TEST_CASE("host functions and callbacks of a stream are called, and priorities are clamped") {
  int calls = 0;
  hipStream_t stream = nullptr;
  REQUIRE(hipStreamCreateWithPriority(&stream, hipStreamDefault, -7) == hipSuccess);
  int priority = 0, least = 0, greatest = 0;
  REQUIRE(hipStreamGetPriority(stream, &priority) == hipSuccess);
  REQUIRE(hipDeviceGetStreamPriorityRange(&least, &greatest) == hipSuccess);
  CHECK(priority == greatest);
  CHECK(least > greatest);
  REQUIRE(hipLaunchHostFunc(
              stream, [](void* data) { ++*static_cast<int*>(data); }, &calls) == hipSuccess);
  const auto callback = [](hipStream_t, hipError_t status, void* data) {
    if (status == hipSuccess) ++*static_cast<int*>(data);
  };
  REQUIRE(hipStreamAddCallback(stream, callback, &calls, 0) == hipSuccess);
  CHECK(calls == 2);
  CHECK(hipLaunchHostFunc(stream, nullptr, &calls) == hipErrorInvalidValue);
  REQUIRE(hipStreamDestroy(stream) == hipSuccess);
  REQUIRE(hipMemsetAsync(nullptr, 0, 0, hipStreamPerThread) == hipSuccess);
}

TEST_CASE("host code that describes a texture compiles, and no texture is made") {
  (void)hip::take_launched();
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.desc = {32, 0, 0, 0, hipChannelFormatKindFloat};
  hipTextureDesc description = {};
  description.readMode = hipReadModeElementType;
  hipTextureObject_t texture = nullptr;
  CHECK(hipCreateTextureObject(&texture, &resource, &description, nullptr) == hipErrorNotSupported);
  CHECK(hip::take_launched().faults ==
        std::vector<std::string>{
            "hipCreateTextureObject: gfx942 and gfx950 have no image instructions"});
}
