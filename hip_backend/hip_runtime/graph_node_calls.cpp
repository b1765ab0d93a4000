// What a node of a graph is, what comes before and after it, and what it is changed to.
#include <algorithm>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/graph.hpp"
#include "hip_backend/hip_runtime/launch.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

// The work of a node, if it is of this kind; null after a fault.
template <class Kind>
Kind* work_of(const char* call, hipGraphNode_t handle) {
  if (owner_of(call, handle) == nullptr) return nullptr;
  auto* const work = std::get_if<Kind>(&node_of(handle)->work);
  if (work == nullptr) fault(hipErrorInvalidValue, say(call, ": the node is of another kind"));
  return work;
}

template <class Kind>
hipError_t set(const char* call, hipGraphNode_t handle, Kind work) {
  Kind* const of_node = work_of<Kind>(call, handle);
  if (of_node == nullptr) return last_error();
  return *of_node = std::move(work), hipSuccess;
}

bool has_edge(hipGraphNode_t from, hipGraphNode_t to) {
  const auto& after = node_of(to)->after;
  return std::find(after.begin(), after.end(), node_of(from)) != after.end();
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipGraphGetEdges(hipGraph_t handle, hipGraphNode_t* from, hipGraphNode_t* to,
                            std::size_t* count) {
  const rt::Turn turn;
  const rt::Graph* const graph = rt::graph_of("hipGraphGetEdges", handle);
  if (graph == nullptr) return rt::last_error();
  if (count == nullptr || (from == nullptr) != (to == nullptr))
    return rt::keep(hipErrorInvalidValue);
  const std::size_t room = from == nullptr ? 0 : *count;
  std::size_t found = 0;
  for (const auto& node : graph->nodes)
    for (const rt::Node* const before : node->after) {
      if (found < room)
        from[found] = rt::node_handle(before), to[found] = rt::node_handle(node.get());
      ++found;
    }
  return *count = from == nullptr ? found : std::min(found, room), hipSuccess;
}
hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t handle, hipGraphNode_t* dependent,
                                         std::size_t* count) {
  const rt::Turn turn;
  const rt::Graph* const graph = rt::owner_of("hipGraphNodeGetDependentNodes", handle);
  if (graph == nullptr) return rt::last_error();
  std::vector<const rt::Node*> later;
  for (const auto& node : graph->nodes)
    if (rt::has_edge(handle, rt::node_handle(node.get()))) later.push_back(node.get());
  return rt::give_nodes(later, dependent, count);
}
hipError_t hipGraphRemoveDependencies(hipGraph_t handle, const hipGraphNode_t* from,
                                      const hipGraphNode_t* to, std::size_t count) {
  const rt::Turn turn;
  const rt::Graph* const graph = rt::graph_of("hipGraphRemoveDependencies", handle);
  if (graph == nullptr) return rt::last_error();
  if (count != 0 && (from == nullptr || to == nullptr)) return rt::keep(hipErrorInvalidValue);
  for (std::size_t k = 0; k < count; ++k)
    if (!graph->holds(rt::node_of(to[k])) || !rt::has_edge(from[k], to[k]))
      return rt::fault(hipErrorInvalidValue,
                       mla::say("hipGraphRemoveDependencies: edge ", k, " is not in the graph"));
  for (std::size_t k = 0; k < count; ++k)
    std::erase(rt::node_of(to[k])->after, rt::node_of(from[k]));
  return hipSuccess;
}
hipError_t hipGraphNodeFindInClone(hipGraphNode_t* node, hipGraphNode_t original,
                                   hipGraph_t clone) {
  const rt::Turn turn;
  if (node == nullptr) return rt::keep(hipErrorInvalidValue);
  const rt::Graph* const graph = rt::graph_of("hipGraphNodeFindInClone", clone);
  if (graph == nullptr || rt::owner_of("hipGraphNodeFindInClone", original) == nullptr)
    return rt::last_error();
  for (const auto& copy : graph->nodes)
    if (copy->id == rt::node_of(original)->id)
      return *node = rt::node_handle(copy.get()), hipSuccess;
  return rt::fault(hipErrorInvalidValue, "hipGraphNodeFindInClone: the clone has no such node");
}
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* child) {
  const rt::Turn turn;
  if (child == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto* const work = rt::work_of<rt::GraphWork>("hipGraphChildGraphNodeGetGraph", node);
  if (work == nullptr) return rt::last_error();
  return *child = reinterpret_cast<hipGraph_t>(work->graph.get()), hipSuccess;
}

hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* kernel) {
  const rt::Turn turn;
  if (kernel == nullptr) return rt::keep(hipErrorInvalidValue);
  auto* const work = rt::work_of<rt::KernelWork>("hipGraphKernelNodeGetParams", node);
  const auto* const code = work == nullptr ? nullptr : rt::kernel_of(work->function);
  if (code == nullptr) return rt::last_error();
  auto& pointers = rt::node_of(node)->pointers;
  pointers.clear();
  for (const auto& argument : code->arguments)
    if (!argument.kind.starts_with("hidden"))
      pointers.push_back(work->kernarg.data() + argument.offset);
  *kernel = {.blockDim = work->block,
             .extra = nullptr,
             .func = const_cast<void*>(work->named),
             .gridDim = work->grid,
             .kernelParams = pointers.empty() ? nullptr : pointers.data(),
             .sharedMemBytes = static_cast<unsigned>(work->dynamic_lds)};
  return hipSuccess;
}
hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* kernel) {
  const rt::Turn turn;
  rt::KernelWork work;
  if (const auto bad = rt::kernel_work(kernel, work)) return bad;
  return rt::set("hipGraphKernelNodeSetParams", node, std::move(work));
}
hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms* copy) {
  const rt::Turn turn;
  if (copy == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto* const work = rt::work_of<rt::CopyWork>("hipGraphMemcpyNodeGetParams", node);
  if (work == nullptr) return rt::last_error();
  return *copy = rt::copy_params(*work), hipSuccess;
}
hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms* copy) {
  const rt::Turn turn;
  rt::CopyWork work;
  if (const auto bad = rt::copy_work(copy, work)) return bad;
  return rt::set("hipGraphMemcpyNodeSetParams", node, work);
}
hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void* to, const void* from,
                                         std::size_t bytes, hipMemcpyKind kind) {
  const rt::Turn turn;
  if (to == nullptr || from == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::set("hipGraphMemcpyNodeSetParams1D", node, rt::linear_copy(to, from, bytes, kind));
}
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* fill) {
  const rt::Turn turn;
  if (fill == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto* const work = rt::work_of<rt::FillWork>("hipGraphMemsetNodeGetParams", node);
  if (work == nullptr) return rt::last_error();
  return *fill = rt::fill_params(*work), hipSuccess;
}
hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams* fill) {
  const rt::Turn turn;
  rt::FillWork work;
  if (const auto bad = rt::fill_work(fill, work)) return bad;
  return rt::set("hipGraphMemsetNodeSetParams", node, work);
}
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* host) {
  const rt::Turn turn;
  if (host == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto* const work = rt::work_of<rt::HostWork>("hipGraphHostNodeGetParams", node);
  if (work == nullptr) return rt::last_error();
  return *host = {work->function, work->data}, hipSuccess;
}
hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams* host) {
  const rt::Turn turn;
  if (host == nullptr || host->fn == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::set("hipGraphHostNodeSetParams", node, rt::HostWork{host->fn, host->userData});
}

hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                           hipMemcpy3DParms* copy) {
  const rt::Turn turn;
  rt::CopyWork work;
  if (const auto bad = rt::copy_work(copy, work)) return bad;
  return rt::change("hipGraphExecMemcpyNodeSetParams", executable, node, work);
}
hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                               hipGraph_t child) {
  const rt::Turn turn;
  constexpr const char* call = "hipGraphExecChildGraphNodeSetParams";
  const rt::Graph* const in = rt::graph_of(call, child);
  if (in == nullptr) return rt::last_error();
  if (!in->order())
    return rt::fault(hipErrorInvalidValue,
                     mla::say(call, ": nodes of the child wait for each other"));
  return rt::change(call, executable, node, rt::GraphWork{in->copy()});
}
hipError_t hipGraphNodeSetEnabled(hipGraphExec_t executable, hipGraphNode_t handle,
                                  unsigned enabled) {
  const rt::Turn turn;
  rt::Node* const node = rt::node_in("hipGraphNodeSetEnabled", executable, handle);
  if (node == nullptr) return rt::last_error();
  const bool can = std::holds_alternative<rt::KernelWork>(node->work) ||
                   std::holds_alternative<rt::CopyWork>(node->work) ||
                   std::holds_alternative<rt::FillWork>(node->work);
  if (!can)
    return rt::fault(hipErrorInvalidValue,
                     "hipGraphNodeSetEnabled: the node is no kernel, copy or fill");
  return node->enabled = enabled != 0, hipSuccess;
}
hipError_t hipGraphNodeGetEnabled(hipGraphExec_t executable, hipGraphNode_t handle,
                                  unsigned* enabled) {
  const rt::Turn turn;
  if (enabled == nullptr) return rt::keep(hipErrorInvalidValue);
  const rt::Node* const node = rt::node_in("hipGraphNodeGetEnabled", executable, handle);
  if (node == nullptr) return rt::last_error();
  return *enabled = node->enabled ? 1 : 0, hipSuccess;
}

}  // extern "C"
