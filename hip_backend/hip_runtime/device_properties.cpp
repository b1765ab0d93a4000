// Properties of the device: those of MI300X and MI355X, where they do not depend on a clock.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

constexpr std::size_t kLds942 = 64U << 10U, kLds950 = 160U << 10U;
// It stands in no slot; programs only want to tell devices apart.
constexpr std::string_view kBus = "0000:00:00.0";
constexpr int kWallClock = 100'000;  // kHz

struct Answer {
  hipDeviceAttribute_t attribute;
  int (*of)(const hipDeviceProp_t&);
};
// `name` without hipDeviceAttribute, and a field or a number.
#define MLA_FIELD(name, field) \
  {hipDeviceAttribute##name, [](const hipDeviceProp_t& p) { return int_of(p.field); }},
#define MLA_NUMBER(name, number) \
  {hipDeviceAttribute##name, [](const hipDeviceProp_t&) { return number; }},

// A size that is too large for an int is its largest.
template <class T>
int int_of(T value) {
  return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(value), 2147483647));
}

// clang-format off
constexpr Answer kAnswers[] = {
    MLA_FIELD(EccEnabled, ECCEnabled)
    MLA_FIELD(AsyncEngineCount, asyncEngineCount)
    MLA_FIELD(CanMapHostMemory, canMapHostMemory)
    MLA_FIELD(CanUseHostPointerForRegisteredMem, canUseHostPointerForRegisteredMem)
    MLA_FIELD(ClockRate, clockRate)
    MLA_FIELD(ComputeMode, computeMode)
    MLA_FIELD(ConcurrentKernels, concurrentKernels)
    MLA_FIELD(ConcurrentManagedAccess, concurrentManagedAccess)
    MLA_FIELD(CooperativeLaunch, cooperativeLaunch)
    MLA_FIELD(CooperativeMultiDeviceLaunch, cooperativeMultiDeviceLaunch)
    MLA_FIELD(HostNativeAtomicSupported, hostNativeAtomicSupported)
    MLA_FIELD(Integrated, integrated)
    MLA_FIELD(IsMultiGpuBoard, isMultiGpuBoard)
    MLA_FIELD(KernelExecTimeout, kernelExecTimeoutEnabled)
    MLA_FIELD(L2CacheSize, l2CacheSize)
    MLA_FIELD(ComputeCapabilityMajor, major)
    MLA_FIELD(ComputeCapabilityMinor, minor)
    MLA_FIELD(ManagedMemory, managedMemory)
    MLA_FIELD(MaxBlocksPerMultiProcessor, maxBlocksPerMultiProcessor)
    MLA_FIELD(MaxBlockDimX, maxThreadsDim[0])
    MLA_FIELD(MaxBlockDimY, maxThreadsDim[1])
    MLA_FIELD(MaxBlockDimZ, maxThreadsDim[2])
    MLA_FIELD(MaxGridDimX, maxGridSize[0])
    MLA_FIELD(MaxGridDimY, maxGridSize[1])
    MLA_FIELD(MaxGridDimZ, maxGridSize[2])
    MLA_FIELD(MaxThreadsPerBlock, maxThreadsPerBlock)
    MLA_FIELD(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor)
    MLA_FIELD(MaxPitch, memPitch)
    MLA_FIELD(MemoryBusWidth, memoryBusWidth)
    MLA_FIELD(MemoryClockRate, memoryClockRate)
    MLA_FIELD(MultiprocessorCount, multiProcessorCount)
    MLA_FIELD(PageableMemoryAccess, pageableMemoryAccess)
    MLA_FIELD(PciBusId, pciBusID)
    MLA_FIELD(PciDeviceId, pciDeviceID)
    MLA_FIELD(PciDomainId, pciDomainID)
    MLA_FIELD(MaxRegistersPerBlock, regsPerBlock)
    MLA_FIELD(MaxRegistersPerMultiprocessor, regsPerMultiprocessor)
    MLA_FIELD(MaxSharedMemoryPerBlock, sharedMemPerBlock)
    MLA_FIELD(SharedMemPerBlockOptin, sharedMemPerBlockOptin)
    MLA_FIELD(SharedMemPerMultiprocessor, sharedMemPerMultiprocessor)
    MLA_FIELD(StreamPrioritiesSupported, streamPrioritiesSupported)
    MLA_FIELD(TotalConstantMemory, totalConstMem)
    MLA_FIELD(TotalGlobalMem, totalGlobalMem)
    MLA_FIELD(UnifiedAddressing, unifiedAddressing)
    MLA_FIELD(WarpSize, warpSize)
    MLA_FIELD(MemoryPoolsSupported, memoryPoolsSupported)
    MLA_NUMBER(VirtualMemoryManagementSupported, 0)
    MLA_FIELD(HostRegisterSupported, hostRegisterSupported)
    MLA_NUMBER(MemoryPoolSupportedHandleTypes, 0)
    MLA_FIELD(MaxSharedMemoryPerMultiprocessor, maxSharedMemoryPerMultiProcessor)
    MLA_FIELD(AsicRevision, asicRevision)
    MLA_NUMBER(CanUseStreamWaitValue, 1)
    MLA_NUMBER(ImageSupport, 0)
    MLA_FIELD(PhysicalMultiProcessorCount, multiProcessorCount)
    MLA_NUMBER(FineGrainSupport, 1)
    MLA_NUMBER(WallClockRate, kWallClock)
};
// clang-format on
#undef MLA_FIELD
#undef MLA_NUMBER

void set_sizes(hipDeviceProp_t& p, bool gfx950) {
  p.totalGlobalMem = most_memory;
  p.totalConstMem = std::size_t{1} << 31U;
  p.sharedMemPerBlock = p.maxSharedMemoryPerMultiProcessor = p.sharedMemPerMultiprocessor =
      p.sharedMemPerBlockOptin = gfx950 ? kLds950 : kLds942;
  p.memPitch = 2147483647;
  p.multiProcessorCount = runtime().compute_units();
  p.warpSize = 64;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxBlocksPerMultiProcessor = 32;
  std::fill_n(p.maxThreadsDim, 3, 1024);
  const int most_blocks[] = {2147483647, 65536, 65536};
  std::copy_n(most_blocks, 3, p.maxGridSize);
  p.memoryBusWidth = 8192;
  p.l2CacheSize = 4 << 20;
}

void set_features(hipDeviceProp_t& p) {
  p.canMapHostMemory = p.managedMemory = p.concurrentManagedAccess = 1;
  p.directManagedMemAccessFromHost = p.canUseHostPointerForRegisteredMem = 1;
  p.hostRegisterSupported = p.hostNativeAtomicSupported = p.unifiedAddressing = p.isLargeBar = 1;
  p.cooperativeLaunch = 1;  // waiting for the whole grid does not compile
  p.memoryPoolsSupported = p.streamPrioritiesSupported = p.concurrentKernels = p.ECCEnabled = 1;
  p.arch = {.hasGlobalInt32Atomics = 1,
            .hasGlobalFloatAtomicExch = 1,
            .hasSharedInt32Atomics = 1,
            .hasSharedFloatAtomicExch = 1,
            .hasFloatAtomicAdd = 1,
            .hasGlobalInt64Atomics = 1,
            .hasSharedInt64Atomics = 1,
            .hasDoubles = 1,
            .hasWarpVote = 1,
            .hasWarpBallot = 1,
            .hasWarpShuffle = 1,
            .hasFunnelShift = 0,
            .hasThreadFenceSystem = 1,
            .hasSyncThreadsExt = 0,
            .hasSurfaceFuncs = 0,
            .has3dGrid = 1,
            .hasDynamicParallelism = 0};
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  const rt::Turn turn;
  if (properties == nullptr) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  *properties = {};
  const bool gfx950 = rt::runtime().is_gfx950();
  std::strcpy(properties->name, gfx950 ? "emulated MI355X" : "emulated MI300X");
  std::strcpy(properties->gcnArchName,
              gfx950 ? "gfx950:sramecc+:xnack-" : "gfx942:sramecc+:xnack-");
  rt::set_sizes(*properties, gfx950);
  rt::set_features(*properties);
  // What MI300X and MI355X have; nothing here runs at a clock.
  properties->clockRate = gfx950 ? 2'400'000 : 2'100'000;
  properties->memoryClockRate = gfx950 ? 2'000'000 : 1'300'000;
  properties->clockInstructionRate = rt::kWallClock;
  properties->major = 9;
  properties->minor = gfx950 ? 5 : 4;
  return hipDeviceGetUuid(&properties->uuid, device);
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  const rt::Turn turn;
  if (value == nullptr) return rt::keep(hipErrorInvalidValue);
  hipDeviceProp_t properties;
  if (const auto bad = hipGetDeviceProperties(&properties, device)) return bad;
  for (const rt::Answer& answer : rt::kAnswers)
    if (answer.attribute == attribute) return *value = answer.of(properties), hipSuccess;
  return rt::fault(
      hipErrorNotSupported,
      mla::say("hipDeviceGetAttribute: the emulated device has no answer to attribute ",
               static_cast<int>(attribute)));
}
hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  const rt::Turn turn;
  if (uuid == nullptr) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  std::memcpy(uuid->bytes, rt::runtime().is_gfx950() ? "mla-emul-gfx950" : "mla-emul-gfx942",
              sizeof uuid->bytes);
  return hipSuccess;
}
hipError_t hipDeviceGetPCIBusId(char* id, int bytes, int device) {
  if (id == nullptr || bytes < 1) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  std::snprintf(id, static_cast<std::size_t>(bytes), "%s", rt::kBus.data());
  return hipSuccess;
}
hipError_t hipDeviceGetByPCIBusId(int* device, const char* id) {
  const rt::Turn turn;
  if (device == nullptr || id == nullptr) return rt::keep(hipErrorInvalidValue);
  if (id == rt::kBus) return *device = 0, hipSuccess;
  return rt::fault(hipErrorInvalidValue, mla::say("hipDeviceGetByPCIBusId: no device is at '", id,
                                                  "'; the emulated one is at ", rt::kBus));
}
// There is one to choose.
hipError_t hipChooseDevice(int* device, const hipDeviceProp_t* wanted) {
  if (device == nullptr || wanted == nullptr) return rt::keep(hipErrorInvalidValue);
  return *device = 0, hipSuccess;
}

}  // extern "C"
