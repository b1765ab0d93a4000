// Graphs, node by node.
#include <algorithm>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/graph.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

hipError_t add(const char* call, hipGraphNode_t* node, hipGraph_t handle,
               const hipGraphNode_t* after, std::size_t count, Work work) {
  if (node == nullptr || (count != 0 && after == nullptr)) return keep(hipErrorInvalidValue);
  Graph* const graph = graph_of(call, handle);
  if (graph == nullptr) return last_error();
  std::vector<const Node*> before;
  for (std::size_t k = 0; k < count; ++k) {
    before.push_back(node_of(after[k]));
    if (!graph->holds(before.back()))
      return fault(hipErrorInvalidValue,
                   say(call, ": dependency ", k, " is no node of this graph"));
  }
  return *node = node_handle(graph->add(std::move(work), std::move(before))), hipSuccess;
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags) {
  const rt::Turn turn;
  if (graph == nullptr || flags != 0) return rt::keep(hipErrorInvalidValue);
  return *graph = rt::graphs().keep(std::make_unique<rt::Graph>()), hipSuccess;
}
hipError_t hipGraphDestroy(hipGraph_t handle) {
  const rt::Turn turn;
  const rt::Graph* const graph = rt::graph_of("hipGraphDestroy", handle);
  if (graph == nullptr) return rt::last_error();
  if (std::erase_if(rt::graphs().graphs, [&](const auto& g) { return g.get() == graph; }) != 0)
    return hipSuccess;
  return rt::fault(
      hipErrorInvalidValue,
      "hipGraphDestroy: the graph belongs to a node, or to a capture that has not ended");
}
hipError_t hipGraphClone(hipGraph_t* copy, hipGraph_t handle) {
  const rt::Turn turn;
  if (copy == nullptr) return rt::keep(hipErrorInvalidValue);
  const rt::Graph* const graph = rt::graph_of("hipGraphClone", handle);
  if (graph == nullptr) return rt::last_error();
  return *copy = rt::graphs().keep(graph->copy()), hipSuccess;
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                std::size_t count) {
  const rt::Turn turn;
  return rt::add("hipGraphAddEmptyNode", node, graph, after, count, std::monostate());
}
hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, std::size_t count,
                                 const hipKernelNodeParams* kernel) {
  const rt::Turn turn;
  rt::KernelWork work;
  if (const auto bad = rt::kernel_work(kernel, work)) return bad;
  return rt::add("hipGraphAddKernelNode", node, graph, after, count, std::move(work));
}
hipError_t hipGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, std::size_t count,
                                 const hipMemcpy3DParms* copy) {
  const rt::Turn turn;
  rt::CopyWork work;
  if (const auto bad = rt::copy_work(copy, work)) return bad;
  return rt::add("hipGraphAddMemcpyNode", node, graph, after, count, work);
}
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph,
                                   const hipGraphNode_t* after, std::size_t count, void* to,
                                   const void* from, std::size_t bytes, hipMemcpyKind kind) {
  const rt::Turn turn;
  if (to == nullptr || from == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::add("hipGraphAddMemcpyNode1D", node, graph, after, count,
                 rt::linear_copy(to, from, bytes, kind));
}
hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, std::size_t count,
                                 const hipMemsetParams* fill) {
  const rt::Turn turn;
  rt::FillWork work;
  if (const auto bad = rt::fill_work(fill, work)) return bad;
  return rt::add("hipGraphAddMemsetNode", node, graph, after, count, work);
}
hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                               std::size_t count, const hipHostNodeParams* host) {
  const rt::Turn turn;
  if (host == nullptr || host->fn == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::add("hipGraphAddHostNode", node, graph, after, count,
                 rt::HostWork{host->fn, host->userData});
}
// The node has the child as it is now.
hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph,
                                     const hipGraphNode_t* after, std::size_t count,
                                     hipGraph_t child) {
  const rt::Turn turn;
  const rt::Graph* const in = rt::graph_of("hipGraphAddChildGraphNode", child);
  if (in == nullptr) return rt::last_error();
  if (!in->order())
    return rt::fault(hipErrorInvalidValue,
                     "hipGraphAddChildGraphNode: nodes of the child wait for each other");
  return rt::add("hipGraphAddChildGraphNode", node, graph, after, count, rt::GraphWork{in->copy()});
}

hipError_t hipGraphAddDependencies(hipGraph_t handle, const hipGraphNode_t* from,
                                   const hipGraphNode_t* to, std::size_t count) {
  const rt::Turn turn;
  const rt::Graph* const graph = rt::graph_of("hipGraphAddDependencies", handle);
  if (graph == nullptr) return rt::last_error();
  if (count != 0 && (from == nullptr || to == nullptr)) return rt::keep(hipErrorInvalidValue);
  for (std::size_t k = 0; k < count; ++k)
    if (!graph->holds(rt::node_of(from[k])) || !graph->holds(rt::node_of(to[k])))
      return rt::fault(hipErrorInvalidValue,
                       mla::say("hipGraphAddDependencies: edge ", k, " leaves this graph"));
  for (std::size_t k = 0; k < count; ++k) {
    auto& after = rt::node_of(to[k])->after;
    if (from[k] == to[k] ||
        std::find(after.begin(), after.end(), rt::node_of(from[k])) != after.end())
      return rt::fault(hipErrorInvalidValue,
                       mla::say("hipGraphAddDependencies: edge ", k, " is there already, or leads ",
                                "from a node to itself"));
    after.push_back(rt::node_of(from[k]));
  }
  return hipSuccess;
}
hipError_t hipGraphDestroyNode(hipGraphNode_t handle) {
  const rt::Turn turn;
  rt::Graph* const graph = rt::owner_of("hipGraphDestroyNode", handle);
  if (graph == nullptr) return rt::last_error();
  const rt::Node* const node = rt::node_of(handle);
  for (const auto& other : graph->nodes) std::erase(other->after, node);
  std::erase_if(graph->nodes, [&](const auto& n) { return n.get() == node; });
  return hipSuccess;
}

hipError_t hipGraphGetNodes(hipGraph_t handle, hipGraphNode_t* nodes, std::size_t* count) {
  const rt::Turn turn;
  const rt::Graph* const graph = rt::graph_of("hipGraphGetNodes", handle);
  if (graph == nullptr) return rt::last_error();
  std::vector<const rt::Node*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return rt::give_nodes(all, nodes, count);
}
hipError_t hipGraphGetRootNodes(hipGraph_t handle, hipGraphNode_t* nodes, std::size_t* count) {
  const rt::Turn turn;
  const rt::Graph* const graph = rt::graph_of("hipGraphGetRootNodes", handle);
  if (graph == nullptr) return rt::last_error();
  std::vector<const rt::Node*> roots;
  for (const auto& node : graph->nodes)
    if (node->after.empty()) roots.push_back(node.get());
  return rt::give_nodes(roots, nodes, count);
}
hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* after,
                                       std::size_t* count) {
  const rt::Turn turn;
  if (rt::owner_of("hipGraphNodeGetDependencies", node) == nullptr) return rt::last_error();
  return rt::give_nodes(rt::node_of(node)->after, after, count);
}
hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  const rt::Turn turn;
  if (type == nullptr) return rt::keep(hipErrorInvalidValue);
  if (rt::owner_of("hipGraphNodeGetType", node) == nullptr) return rt::last_error();
  constexpr hipGraphNodeType types[] = {hipGraphNodeTypeEmpty,  hipGraphNodeTypeKernel,
                                        hipGraphNodeTypeMemcpy, hipGraphNodeTypeMemset,
                                        hipGraphNodeTypeHost,   hipGraphNodeTypeGraph};
  static_assert(std::size(types) == std::variant_size_v<rt::Work>);
  return *type = types[rt::node_of(node)->work.index()], hipSuccess;
}

}  // extern "C"
