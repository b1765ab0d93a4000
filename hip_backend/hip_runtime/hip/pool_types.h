// Pools of memory. Names and values are those of HIP 6.4.
#pragma once

#include "runtime_types.h"

using hipMemPool_t = struct ihipMemPoolHandle_t*;
enum hipMemPoolAttr {
  hipMemPoolReuseFollowEventDependencies = 1,
  hipMemPoolReuseAllowOpportunistic,
  hipMemPoolReuseAllowInternalDependencies,
  hipMemPoolAttrReleaseThreshold,  // from here on std::uint64_t, before int
  hipMemPoolAttrReservedMemCurrent,
  hipMemPoolAttrReservedMemHigh,
  hipMemPoolAttrUsedMemCurrent,
  hipMemPoolAttrUsedMemHigh,
};
enum hipMemLocationType {
  hipMemLocationTypeInvalid,
  hipMemLocationTypeDevice,
};
struct hipMemLocation {
  hipMemLocationType type;
  int id;
};
enum hipMemAccessFlags {
  hipMemAccessFlagsProtNone,
  hipMemAccessFlagsProtRead,
  hipMemAccessFlagsProtReadWrite = 3,
};
struct hipMemAccessDesc {
  hipMemLocation location;
  hipMemAccessFlags flags;
};
enum hipMemAllocationType {
  hipMemAllocationTypeInvalid,
  hipMemAllocationTypePinned,
  hipMemAllocationTypeMax = 0x7fffffff,
};
enum hipMemAllocationHandleType {
  hipMemHandleTypeNone = 0,
  hipMemHandleTypePosixFileDescriptor = 1,
  hipMemHandleTypeWin32 = 2,
  hipMemHandleTypeWin32Kmt = 4,
};
struct hipMemPoolProps {
  hipMemAllocationType allocType;
  hipMemAllocationHandleType handleTypes;
  hipMemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;  // bytes; 0: as the device has
  unsigned char reserved[56];
};
struct hipMemPoolPtrExportData {
  unsigned char reserved[64];
};
