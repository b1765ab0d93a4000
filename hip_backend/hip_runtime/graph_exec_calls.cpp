// Graphs that can be launched.
#include <algorithm>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/order.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

Executable* executable_of(const char* call, hipGraphExec_t handle) {
  for (const auto& executable : graphs().executables)
    if (reinterpret_cast<hipGraphExec_t>(executable.get()) == handle) return executable.get();
  fault(hipErrorInvalidHandle, say(call, ": this is no executable graph, or it was destroyed"));
  return nullptr;
}

// The first node by which two graphs differ in more than what their work is about.
const Node* first_difference(const Graph& old, const Graph& now, hipGraphExecUpdateResult& result) {
  result = hipGraphExecUpdateErrorTopologyChanged;
  const auto place_in = [](const Graph& graph, const Node* wanted) {
    const auto is_it = [&](const auto& node) { return node.get() == wanted; };
    return std::find_if(graph.nodes.begin(), graph.nodes.end(), is_it) - graph.nodes.begin();
  };
  for (std::size_t k = 0; k < now.nodes.size(); ++k) {
    const Node& mine = *now.nodes[k];
    if (k >= old.nodes.size()) return &mine;
    const Node& theirs = *old.nodes[k];
    const bool same_order = std::equal(
        mine.after.begin(), mine.after.end(), theirs.after.begin(), theirs.after.end(),
        [&](const Node* a, const Node* b) { return place_in(now, a) == place_in(old, b); });
    if (!same_order) return &mine;
    if (mine.work.index() != theirs.work.index()) {
      result = hipGraphExecUpdateErrorNodeTypeChanged;
      return &mine;
    }
  }
  result = hipGraphExecUpdateSuccess;
  return nullptr;
}

}  // namespace

Node* node_in(const char* call, hipGraphExec_t executable, hipGraphNode_t handle) {
  const Executable* const in = executable_of(call, executable);
  if (in == nullptr) return nullptr;
  const Node* const original = node_of(handle);
  for (const Graph* const graph : known_graphs()) {
    if (!graph->holds(original)) continue;
    for (const auto& node : in->graph->nodes)
      if (node->id == original->id) return node.get();
  }
  fault(hipErrorInvalidValue, say(call, ": the executable graph has no such node"));
  return nullptr;
}

hipError_t change(const char* call, hipGraphExec_t executable, hipGraphNode_t handle, Work work) {
  Node* const node = node_in(call, executable, handle);
  if (node == nullptr) return last_error();
  if (node->work.index() != work.index())
    return fault(hipErrorInvalidValue, say(call, ": the executable graph has no such node"));
  return node->work = std::move(work), hipSuccess;
}

}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t handle,
                                        unsigned long long flags) {
  const rt::Turn turn;
  // Upload and priorities change nothing here.
  constexpr unsigned long long known = hipGraphInstantiateFlagAutoFreeOnLaunch |
                                       hipGraphInstantiateFlagUpload |
                                       hipGraphInstantiateFlagUseNodePriority;
  if (executable == nullptr || (flags & ~known) != 0) return rt::keep(hipErrorInvalidValue);
  const rt::Graph* const graph = rt::graph_of("hipGraphInstantiate", handle);
  if (graph == nullptr) return rt::last_error();
  auto made = std::make_unique<rt::Executable>();
  made->graph = graph->copy();
  auto order = made->graph->order();
  if (!order)
    return rt::fault(hipErrorInvalidValue, "hipGraphInstantiate: nodes wait for each other");
  made->order = std::move(*order);
  *executable = reinterpret_cast<hipGraphExec_t>(made.get());
  rt::graphs().executables.push_back(std::move(made));
  return hipSuccess;
}
hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* failed,
                               char* log, std::size_t log_bytes) {
  if (failed != nullptr) *failed = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  return hipGraphInstantiateWithFlags(executable, graph, 0);
}
hipError_t hipGraphExecDestroy(hipGraphExec_t handle) {
  const rt::Turn turn;
  const rt::Executable* const made = rt::executable_of("hipGraphExecDestroy", handle);
  if (made == nullptr) return rt::last_error();
  std::erase_if(rt::graphs().executables, [&](const auto& e) { return e.get() == made; });
  return hipSuccess;
}
hipError_t hipGraphUpload(hipGraphExec_t handle, hipStream_t) {
  const rt::Turn turn;
  return rt::executable_of("hipGraphUpload", handle) == nullptr ? rt::last_error() : hipSuccess;
}
hipError_t hipGraphLaunch(hipGraphExec_t handle, hipStream_t stream) {
  const rt::Turn turn;
  rt::Executable* const made = rt::executable_of("hipGraphLaunch", handle);
  if (made == nullptr) return rt::last_error();
  if (rt::capture_of(stream)) return rt::submit(stream, rt::GraphWork{made->graph->copy()});
  if (rt::named(stream) == nullptr)
    if (const auto bad = rt::refuse_without_stream("hipGraphLaunch")) return bad;
  rt::order().wait(rt::order_of(stream), made->launched);
  const rt::OnStream on(rt::order_of(stream));
  rt::order().in_graph();
  const hipError_t result = rt::run_in_order(made->order);
  made->launched = rt::order().now();
  return result;
}

hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                           const hipKernelNodeParams* kernel) {
  const rt::Turn turn;
  rt::KernelWork work;
  if (const auto bad = rt::kernel_work(kernel, work)) return bad;
  return rt::change("hipGraphExecKernelNodeSetParams", executable, node, std::move(work));
}
hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t executable, hipGraphNode_t node,
                                             void* to, const void* from, std::size_t bytes,
                                             hipMemcpyKind kind) {
  const rt::Turn turn;
  if (to == nullptr || from == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::change("hipGraphExecMemcpyNodeSetParams1D", executable, node,
                    rt::linear_copy(to, from, bytes, kind));
}
hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                           const hipMemsetParams* fill) {
  const rt::Turn turn;
  rt::FillWork work;
  if (const auto bad = rt::fill_work(fill, work)) return bad;
  return rt::change("hipGraphExecMemsetNodeSetParams", executable, node, work);
}
hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                         const hipHostNodeParams* host) {
  const rt::Turn turn;
  if (host == nullptr || host->fn == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::change("hipGraphExecHostNodeSetParams", executable, node,
                    rt::HostWork{host->fn, host->userData});
}
hipError_t hipGraphExecUpdate(hipGraphExec_t executable, hipGraph_t handle, hipGraphNode_t* changed,
                              hipGraphExecUpdateResult* result) {
  const rt::Turn turn;
  rt::Executable* const made = rt::executable_of("hipGraphExecUpdate", executable);
  const rt::Graph* const graph = rt::graph_of("hipGraphExecUpdate", handle);
  if (made == nullptr || graph == nullptr) return rt::last_error();
  hipGraphExecUpdateResult found = hipGraphExecUpdateSuccess;
  const rt::Node* const node = rt::first_difference(*made->graph, *graph, found);
  if (found == hipGraphExecUpdateSuccess && graph->nodes.size() != made->graph->nodes.size())
    found = hipGraphExecUpdateErrorTopologyChanged;
  if (changed != nullptr) *changed = reinterpret_cast<hipGraphNode_t>(const_cast<rt::Node*>(node));
  if (result != nullptr) *result = found;
  if (found != hipGraphExecUpdateSuccess) return rt::keep(hipErrorGraphExecUpdateFailure);
  for (std::size_t k = 0; k < graph->nodes.size(); ++k)
    made->graph->nodes[k]->work = graph->nodes[k]->work;
  return hipSuccess;
}

}  // extern "C"
