// What a node of a graph is, and what it is changed to; objects that live as long as a graph does;
// and a graph as text. Included by hip_runtime.h.
#pragma once

#include "graph_types.h"

#pragma GCC visibility push(default)
extern "C" {
// Without arrays `count` becomes the number there is; with both, the number that was written.
hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to,
                            std::size_t* count);
hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t* dependent,
                                         std::size_t* count);
hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                      const hipGraphNode_t* to, std::size_t count);
hipError_t hipGraphNodeFindInClone(hipGraphNode_t* node, hipGraphNode_t original, hipGraph_t clone);
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* child);
// Pointers that are given are into the node, until it is changed or destroyed.
hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* kernel);
hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* kernel);
hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms* copy);
hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms* copy);
hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void* to, const void* from,
                                         std::size_t bytes, hipMemcpyKind kind);
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* fill);
hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams* fill);
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* host);
hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams* host);
hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                           hipMemcpy3DParms* copy);
hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                               hipGraph_t child);
// A node that is not enabled does nothing: a kernel, a copy or a fill.
hipError_t hipGraphNodeSetEnabled(hipGraphExec_t executable, hipGraphNode_t node, unsigned enabled);
hipError_t hipGraphNodeGetEnabled(hipGraphExec_t executable, hipGraphNode_t node,
                                  unsigned* enabled);
// Writes the graph for Graphviz. Flags choose how much HIP says of a node; here all say the same.
hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char* path, unsigned flags);

// `destroy` is called with `pointer` when nobody holds the object any more.
hipError_t hipUserObjectCreate(hipUserObject_t* object, void* pointer, hipHostFn_t destroy,
                               unsigned references, unsigned flags);
hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count = 1);
hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count = 1);
hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count = 1,
                                    unsigned flags = 0);
hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count = 1);
}
#pragma GCC visibility pop
