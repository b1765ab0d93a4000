// Types of graphs and of the capture of streams. Names and values are those of HIP 6.4.
#pragma once

#include <cstddef>

#include "runtime_types.h"

enum hipStreamCaptureStatus {
  hipStreamCaptureStatusNone,
  hipStreamCaptureStatusActive,
  hipStreamCaptureStatusInvalidated,
};
enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal,
  hipStreamCaptureModeThreadLocal,
  hipStreamCaptureModeRelaxed,
};
enum hipGraphNodeType {
  hipGraphNodeTypeKernel,
  hipGraphNodeTypeMemcpy,
  hipGraphNodeTypeMemset,
  hipGraphNodeTypeHost,
  hipGraphNodeTypeGraph,
  hipGraphNodeTypeEmpty,
};
enum hipGraphExecUpdateResult {
  hipGraphExecUpdateSuccess,
  hipGraphExecUpdateError,
  hipGraphExecUpdateErrorTopologyChanged,
  hipGraphExecUpdateErrorNodeTypeChanged,
};

enum hipStreamUpdateCaptureDependenciesFlags {
  hipStreamAddCaptureDependencies,
  hipStreamSetCaptureDependencies,
};
enum hipUserObjectFlags { hipUserObjectNoDestructorSync = 1 };
enum hipUserObjectRetainFlags { hipGraphUserObjectMove = 1 };
enum hipGraphInstantiateFlags {
  hipGraphInstantiateFlagAutoFreeOnLaunch = 1,
  hipGraphInstantiateFlagUpload = 2,
  hipGraphInstantiateFlagDeviceLaunch = 4,
  hipGraphInstantiateFlagUseNodePriority = 8,
};
enum hipGraphDebugDotFlags {
  hipGraphDebugDotFlagsVerbose = 1,
  hipGraphDebugDotFlagsKernelNodeParams = 4,
  hipGraphDebugDotFlagsMemcpyNodeParams = 8,
  hipGraphDebugDotFlagsMemsetNodeParams = 16,
  hipGraphDebugDotFlagsHostNodeParams = 32,
  hipGraphDebugDotFlagsEventNodeParams = 64,
  hipGraphDebugDotFlagsExtSemasSignalNodeParams = 128,
  hipGraphDebugDotFlagsExtSemasWaitNodeParams = 256,
  hipGraphDebugDotFlagsKernelNodeAttributes = 512,
  hipGraphDebugDotFlagsHandles = 1024,
};

using hipUserObject_t = struct hipUserObject*;
using hipGraph_t = struct ihipGraph*;
using hipGraphNode_t = struct hipGraphNode*;
using hipGraphExec_t = struct hipGraphExec*;
using hipHostFn_t = void (*)(void* data);

struct hipKernelNodeParams {
  dim3 blockDim;
  void** extra;
  void* func;
  dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};
struct hipMemsetParams {
  void* dst;
  unsigned elementSize;  // bytes: 1, 2 or 4
  std::size_t height;
  std::size_t pitch;  // bytes
  unsigned value;
  std::size_t width;  // elements
};
struct hipHostNodeParams {
  hipHostFn_t fn;
  void* userData;
};
