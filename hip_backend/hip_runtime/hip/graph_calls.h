// Graphs, and the capture of streams into them. What a graph does is done at its launch, in an
// order that its dependencies allow; nodes of memory, events and semaphores do not exist here.
// Included by hip_runtime.h.
#pragma once

#include "graph_types.h"

#pragma GCC visibility push(default)
extern "C" {
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status);
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                   unsigned long long* id);
// With the graph so far and what the next node waits for, until more is captured.
hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status,
                                      unsigned long long* id = nullptr, hipGraph_t* graph = nullptr,
                                      const hipGraphNode_t** after = nullptr,
                                      std::size_t* count = nullptr);
hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t* after,
                                              std::size_t count, unsigned flags = 0);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode);
hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags);
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphClone(hipGraph_t* copy, hipGraph_t graph);
hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                std::size_t count);
hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, std::size_t count,
                                 const hipKernelNodeParams* kernel);
hipError_t hipGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, std::size_t count,
                                 const hipMemcpy3DParms* copy);
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph,
                                   const hipGraphNode_t* after, std::size_t count, void* to,
                                   const void* from, std::size_t bytes, hipMemcpyKind kind);
hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, std::size_t count,
                                 const hipMemsetParams* fill);
hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                               std::size_t count, const hipHostNodeParams* host);
hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph,
                                     const hipGraphNode_t* after, std::size_t count,
                                     hipGraph_t child);
hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                   const hipGraphNode_t* to, std::size_t count);
hipError_t hipGraphDestroyNode(hipGraphNode_t node);
// Without an array `count` becomes the number there is; with one, the number that was written.
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count);
hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count);
hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* after,
                                       std::size_t* count);
hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type);
hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* failed,
                               char* log, std::size_t log_bytes);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                        unsigned long long flags);
hipError_t hipGraphExecDestroy(hipGraphExec_t executable);
hipError_t hipGraphUpload(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                           const hipKernelNodeParams* kernel);
hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t executable, hipGraphNode_t node,
                                             void* to, const void* from, std::size_t bytes,
                                             hipMemcpyKind kind);
hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                           const hipMemsetParams* fill);
hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                         const hipHostNodeParams* host);
hipError_t hipGraphExecUpdate(hipGraphExec_t executable, hipGraph_t graph, hipGraphNode_t* changed,
                              hipGraphExecUpdateResult* result);
}
#pragma GCC visibility pop
