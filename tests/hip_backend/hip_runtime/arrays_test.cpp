// Arrays, copies that a structure describes, and pools of memory.
#include <algorithm>
#include <numeric>

#include "device_word.hpp"

namespace hip = mla::hip_runtime;

namespace {

std::vector<unsigned char> counted(std::size_t count) {
  std::vector<unsigned char> out(count);
  std::iota(out.begin(), out.end(), 1);
  return out;
}

hipArray_t array_of(std::size_t width, std::size_t height) {
  const hipChannelFormatDesc element = hipCreateChannelDesc<unsigned short>();
  hipArray_t out = nullptr;
  REQUIRE(hipMallocArray(&out, &element, width, height) == hipSuccess);
  return out;
}

std::vector<std::string> faults() {
  return hip::take_launched().faults;
}

}  // namespace

TEST_CASE("an array knows its elements and its size, and is freed once") {
  const hipChannelFormatDesc vector = hipCreateChannelDesc<float4>();
  CHECK(vector.w == 32);
  CHECK(vector.f == hipChannelFormatKindFloat);
  CHECK(hipCreateChannelDesc<unsigned char>().f == hipChannelFormatKindUnsigned);
  CHECK(hipCreateChannelDesc<short2>().z == 0);
  CHECK(hipCreateChannelDesc(8, 8, 0, 0, hipChannelFormatKindSigned).y == 8);
  hipArray_t array = nullptr;
  REQUIRE(hipMalloc3DArray(&array, &vector, make_hipExtent(7, 5, 3), hipArrayDefault) ==
          hipSuccess);
  hipChannelFormatDesc element = {};
  hipExtent extent = {};
  unsigned flags = 9;
  REQUIRE(hipArrayGetInfo(&element, &extent, &flags, array) == hipSuccess);
  CHECK(element.x == 32);
  CHECK(extent.depth == 3);
  CHECK(flags == 0);
  HIP_ARRAY3D_DESCRIPTOR descriptor = {};
  REQUIRE(hipArray3DGetDescriptor(&descriptor, array) == hipSuccess);
  CHECK(descriptor.Format == HIP_AD_FORMAT_FLOAT);
  CHECK(descriptor.NumChannels == 4);
  CHECK(descriptor.Height == 5);
  std::size_t before = 0, after = 0, total = 0;
  REQUIRE(hipMemGetInfo(&before, &total) == hipSuccess);
  REQUIRE(hipFreeArray(array) == hipSuccess);
  REQUIRE(hipMemGetInfo(&after, &total) == hipSuccess);
  CHECK(after - before == 256 * 5 * 3);
  (void)faults();
  CHECK(hipFreeArray(array) == hipErrorInvalidHandle);
  CHECK(hipFreeArray(nullptr) == hipSuccess);
  CHECK(faults() == std::vector<std::string>{"hipFreeArray: this is no array, or it was freed"});
  const hipChannelFormatDesc three = hipCreateChannelDesc(8, 8, 8, 0, hipChannelFormatKindSigned);
  CHECK(hipMallocArray(&array, &three, 4) == hipErrorInvalidChannelDescriptor);
  CHECK(hipMallocArray(&array, &vector, 4, 4, hipArrayCubemap) == hipErrorNotSupported);
  CHECK(hipMallocArray(&array, &vector, std::size_t{1} << 40, 1) == hipErrorOutOfMemory);
  CHECK(hipMallocArray(&array, &vector, 0) == hipErrorInvalidValue);
  (void)faults();
  const HIP_ARRAY_DESCRIPTOR wanted = {6, 2, HIP_AD_FORMAT_HALF, 2};
  REQUIRE(hipArrayCreate(&array, &wanted) == hipSuccess);
  REQUIRE(hipGetChannelDesc(&element, array) == hipSuccess);
  CHECK(element.y == 16);
  CHECK(element.f == hipChannelFormatKindFloat);
  REQUIRE(hipArrayDestroy(array) == hipSuccess);
  (void)hipGetLastError();
}

TEST_CASE("boxes go into an array and out of it, from array to array, and not past it") {
  const auto in = counted(60);
  std::vector<unsigned char> out(60);
  const hipArray_t array = array_of(5, 6), other = array_of(5, 6);  // rows of 10 bytes
  REQUIRE(hipMemcpy2DToArray(array, 0, 0, in.data(), 10, 10, 6, hipMemcpyHostToDevice) ==
          hipSuccess);
  REQUIRE(hipMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, 10, 6, hipMemcpyDeviceToDevice) ==
          hipSuccess);
  REQUIRE(hipMemcpy2DFromArray(out.data(), 10, other, 4, 2, 6, 3, hipMemcpyDeviceToHost) ==
          hipSuccess);
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t x = 0; x < 10; ++x)
      CHECK(out[10 * row + x] == (x < 6 ? in[10 * (row + 2) + 4 + x] : 0));
  (void)faults();
  CHECK(hipMemcpy2DFromArray(out.data(), 10, other, 5, 0, 6, 1, hipMemcpyDeviceToHost) ==
        hipErrorInvalidValue);
  CHECK(hipMemcpy2DToArray(other, 0, 4, in.data(), 10, 10, 3, hipMemcpyHostToDevice) ==
        hipErrorInvalidValue);
  CHECK(faults().front() ==
        "hipMemcpy2DFromArray: 6 bytes, 1 rows and 1 slices from (5, 0, 0) on reach past an array "
        "of 10 bytes, 6 rows and 1 slices");
  // Bytes in a row: part of a row, whole rows, part of a row.
  const std::vector<unsigned char> zeros(60);
  REQUIRE(hipMemcpyToArray(array, 0, 0, zeros.data(), 60, hipMemcpyHostToDevice) == hipSuccess);
  REQUIRE(hipMemcpyToArray(array, 7, 1, in.data(), 28, hipMemcpyHostToDevice) == hipSuccess);
  REQUIRE(hipMemcpyFromArray(out.data(), array, 0, 0, 60, hipMemcpyDeviceToHost) == hipSuccess);
  for (std::size_t k = 0; k < 60; ++k) CHECK(out[k] == (k >= 17 && k < 45 ? in[k - 17] : 0));
  REQUIRE(hipMemcpyHtoA(array, 58, in.data(), 2) == hipErrorInvalidValue);  // of the first row
  REQUIRE(hipMemcpyAtoH(out.data(), array, 7, 20) == hipSuccess);
  CHECK(out[10] == in[0]);
  CHECK(hipMemcpyFromArray(out.data(), array, 0, 1, 51, hipMemcpyDeviceToHost) ==
        hipErrorInvalidValue);
  (void)faults();
  REQUIRE(hipFreeArray(array) == hipSuccess);
  CHECK(hipMemcpyFromArray(out.data(), array, 0, 0, 1, hipMemcpyDeviceToHost) ==
        hipErrorInvalidHandle);
  REQUIRE(hipDeviceReset() == hipSuccess);
  CHECK(hipFreeArray(other) == hipErrorInvalidHandle);
  (void)faults();
  (void)hipGetLastError();
}

TEST_CASE("a box of hipMemcpy3D has the width of an array's elements") {
  const auto in = counted(60);
  std::vector<unsigned char> out(60);
  const hipArray_t array = array_of(5, 6);
  hipMemcpy3DParms up = {};
  up.srcPtr = make_hipPitchedPtr(const_cast<unsigned char*>(in.data()), 10, 10, 6);
  up.dstArray = array;
  up.extent = make_hipExtent(5, 6, 1);
  up.kind = hipMemcpyHostToDevice;
  REQUIRE(hipMemcpy3D(&up) == hipSuccess);
  hipMemcpy3DParms down = {};
  down.srcArray = array;
  down.srcPos = make_hipPos(1, 2, 0);
  down.dstPtr = make_hipPitchedPtr(out.data(), 10, 10, 6);
  down.extent = make_hipExtent(3, 2, 1);
  down.kind = hipMemcpyDeviceToHost;
  REQUIRE(hipMemcpy3D(&down) == hipSuccess);
  CHECK(std::equal(out.begin(), out.begin() + 6, in.begin() + 22));
  CHECK(out[10] == in[32]);
  CHECK(out[6] == 0);
  (void)faults();
  down.srcPos = make_hipPos(3, 2, 0);
  CHECK(hipMemcpy3D(&down) == hipErrorInvalidValue);
  CHECK(faults().size() == 1);
  REQUIRE(hipFreeArray(array) == hipSuccess);
  CHECK(hipMemcpy3D(&up) == hipErrorInvalidHandle);
  (void)faults();
  (void)hipGetLastError();
}

TEST_CASE("copies that a structure describes keep to its boxes") {
  const auto in = counted(48);
  std::vector<unsigned char> out(48);
  unsigned char* device = nullptr;
  REQUIRE(hipMalloc(&device, 48) == hipSuccess);
  hip_Memcpy2D up = {};
  up.srcMemoryType = hipMemoryTypeHost, up.srcHost = in.data(), up.srcPitch = 8;
  up.dstMemoryType = hipMemoryTypeDevice, up.dstDevice = device, up.dstPitch = 8;
  up.WidthInBytes = 8, up.Height = 6;
  REQUIRE(hipMemcpyParam2D(&up) == hipSuccess);
  hip_Memcpy2D down = {};
  down.srcMemoryType = hipMemoryTypeDevice, down.srcDevice = device, down.srcPitch = 8;
  down.srcXInBytes = 3, down.srcY = 1;
  down.dstMemoryType = hipMemoryTypeHost, down.dstHost = out.data(), down.dstPitch = 4;
  down.dstXInBytes = 1, down.dstY = 2, down.WidthInBytes = 2, down.Height = 3;
  REQUIRE(hipDrvMemcpy2DUnaligned(&down) == hipSuccess);
  for (std::size_t k = 0; k < 48; ++k) {
    const std::size_t x = k % 4, y = k / 4;
    const bool inside = x >= 1 && x < 3 && y >= 2 && y < 5;
    CHECK(out[k] == (inside ? in[8 * (y - 1) + x + 2] : 0));
  }
  HIP_MEMCPY3D box = {};
  box.srcMemoryType = hipMemoryTypeDevice, box.srcDevice = device;
  box.srcPitch = 4, box.srcHeight = 3, box.srcZ = 1;  // four slices of three rows
  box.dstMemoryType = hipMemoryTypeHost, box.dstHost = out.data(), box.dstPitch = 2;
  box.dstHeight = 2, box.WidthInBytes = 2, box.Height = 2, box.Depth = 3;
  REQUIRE(hipDrvMemcpy3D(&box) == hipSuccess);
  for (std::size_t k = 0; k < 12; ++k)
    CHECK(out[k] == in[12 * (k / 4 + 1) + 4 * (k / 2 % 2) + k % 2]);
  (void)faults();
  box.srcPitch = std::size_t{1} << 63;  // around all of memory, and back
  CHECK(hipDrvMemcpy3D(&box) == hipErrorInvalidValue);
  box.srcPitch = 4;
  box.srcZ = 2;
  CHECK(hipDrvMemcpy3D(&box) == hipErrorInvalidValue);  // the last slice is past the end
  box.srcLOD = 1;
  CHECK(hipDrvMemcpy3D(&box) == hipErrorInvalidValue);
  down.srcMemoryType = static_cast<hipMemoryType>(7);
  CHECK(hipMemcpyParam2D(&down) == hipErrorInvalidValue);
  CHECK(faults().size() == 3);
  CHECK(hipMemcpyParam2D(nullptr) == hipErrorInvalidValue);
  const hipArray_t array = array_of(4, 6);
  up.dstMemoryType = hipMemoryTypeArray, up.dstArray = array;
  REQUIRE(hipMemcpyParam2D(&up) == hipSuccess);
  REQUIRE(hipMemcpyAtoH(out.data(), array, 0, 48) == hipSuccess);
  CHECK(std::equal(in.begin(), in.end(), out.begin()));
  REQUIRE(hipFreeArray(array) == hipSuccess);
  REQUIRE(hipFree(device) == hipSuccess);
  (void)hipGetLastError();
}

TEST_CASE("a pool counts what it gave out, and has a limit of its own") {
  hipMemPoolProps properties = {};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location = {hipMemLocationTypeDevice, 0};
  properties.maxSize = 1000;
  hipMemPool_t pool = nullptr, of_device = nullptr, current = nullptr;
  REQUIRE(hipMemPoolCreate(&pool, &properties) == hipSuccess);
  REQUIRE(hipDeviceGetDefaultMemPool(&of_device, 0) == hipSuccess);
  REQUIRE(hipDeviceGetMemPool(&current, 0) == hipSuccess);
  CHECK(current == of_device);
  char *first = nullptr, *second = nullptr, *third = nullptr;
  REQUIRE(hipMallocFromPoolAsync(&first, 600, pool, nullptr) == hipSuccess);
  CHECK(hipMallocFromPoolAsync(&second, 401, pool, nullptr) == hipErrorOutOfMemory);
  REQUIRE(hipMallocAsync(&second, 400, pool, nullptr) == hipSuccess);
  const auto number = [&](hipMemPool_t of, hipMemPoolAttr attribute) {
    std::uint64_t out = 0;
    REQUIRE(hipMemPoolGetAttribute(of, attribute, &out) == hipSuccess);
    return out;
  };
  CHECK(number(pool, hipMemPoolAttrUsedMemCurrent) == 1000);
  CHECK(number(of_device, hipMemPoolAttrUsedMemCurrent) == 0);
  REQUIRE(hipFreeAsync(first, nullptr) == hipSuccess);
  CHECK(number(pool, hipMemPoolAttrUsedMemCurrent) == 400);
  REQUIRE(hipMallocFromPoolAsync(&first, 50, pool, nullptr) == hipSuccess);
  REQUIRE(hipFreeAsync(first, nullptr) == hipSuccess);
  CHECK(number(pool, hipMemPoolAttrUsedMemHigh) == 1000);
  std::uint64_t zero = 0, threshold = 77;
  REQUIRE(hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemHigh, &zero) == hipSuccess);
  CHECK(number(pool, hipMemPoolAttrReservedMemHigh) == 400);
  REQUIRE(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold) == hipSuccess);
  CHECK(number(pool, hipMemPoolAttrReleaseThreshold) == 77);
  int reuse = 0;
  REQUIRE(hipMemPoolSetAttribute(pool, hipMemPoolReuseAllowOpportunistic, &reuse) == hipSuccess);
  reuse = 5;
  REQUIRE(hipMemPoolGetAttribute(pool, hipMemPoolReuseAllowOpportunistic, &reuse) == hipSuccess);
  CHECK(reuse == 0);
  CHECK(hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &zero) == hipErrorInvalidValue);
  REQUIRE(hipDeviceSetMemPool(0, pool) == hipSuccess);
  REQUIRE(hipMallocAsync(&third, 100, nullptr) == hipSuccess);
  CHECK(number(pool, hipMemPoolAttrUsedMemCurrent) == 500);
  REQUIRE(hipMemPoolTrimTo(pool, 0) == hipSuccess);
  hipMemAccessDesc access = {{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
  REQUIRE(hipMemPoolSetAccess(pool, &access, 1) == hipSuccess);
  hipMemAccessFlags flags{};
  REQUIRE(hipMemPoolGetAccess(&flags, pool, &access.location) == hipSuccess);
  CHECK(flags == hipMemAccessFlagsProtReadWrite);
  access.flags = hipMemAccessFlagsProtNone;
  CHECK(hipMemPoolSetAccess(pool, &access, 1) == hipErrorInvalidValue);
  // Memory outlives its pool.
  REQUIRE(hipMemPoolDestroy(pool) == hipSuccess);
  REQUIRE(hipDeviceGetMemPool(&current, 0) == hipSuccess);
  CHECK(current == of_device);
  REQUIRE(hipFree(second) == hipSuccess);
  REQUIRE(hipFree(third) == hipSuccess);
  (void)faults();
  CHECK(hipMallocFromPoolAsync(&first, 1, pool, nullptr) == hipErrorInvalidValue);
  CHECK(hipMemPoolDestroy(of_device) == hipErrorInvalidValue);
  properties.handleTypes = hipMemHandleTypePosixFileDescriptor;
  CHECK(hipMemPoolCreate(&pool, &properties) == hipErrorNotSupported);
  CHECK(hipMemPoolExportPointer(nullptr, nullptr) == hipErrorNotSupported);
  CHECK(faults() ==
        std::vector<std::string>{"hipMallocFromPoolAsync: this is no pool, or it was destroyed",
                                 "hipMemPoolDestroy: this is no pool, or it was destroyed",
                                 "hipMemPoolCreate: one process has the device",
                                 "hipMemPoolExportPointer: one process has the device"});
  (void)hipGetLastError();
}
