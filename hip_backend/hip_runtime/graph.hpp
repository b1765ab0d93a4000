// Owns: graphs, and what was instantiated of them. Private to hip_runtime.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hip_backend/hip_runtime/clock.hpp"
#include "hip_backend/hip_runtime/work.hpp"

namespace mla::hip_runtime {

struct Node {
  Work work;
  std::vector<const Node*> after;  // of the same graph
  std::uint64_t id = 0;            // the same in a copy of the graph
  bool enabled = true;             // of an executable graph: whether it does anything
  std::vector<void*> pointers;     // to a kernel's arguments, as they were given out last
};

// Calls `destroy` when nobody holds it any more.
struct UserObject {
  void* pointer;
  hipHostFn_t destroy;
  UserObject(void* of, hipHostFn_t call) : pointer(of), destroy(call) {}
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;
  ~UserObject() { destroy(pointer); }
};
struct HeldObject {
  std::shared_ptr<UserObject> object;
  unsigned count;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<HeldObject> objects;

  Node* add(Work work, std::vector<const Node*> after);
  [[nodiscard]] bool holds(const Node* node) const;
  [[nodiscard]] std::unique_ptr<Graph> copy() const;
  // The nodes, each after those that it waits for; nothing if some wait for each other.
  [[nodiscard]] std::optional<std::vector<const Node*>> order() const;
  // Whether `last` are, or wait for, every node of the graph.
  [[nodiscard]] bool ends_with(std::span<const Node* const> last) const;
};

struct Executable {
  std::unique_ptr<Graph> graph;
  std::vector<const Node*> order;
  Clock launched;  // of its last launch, which the next one comes after on any stream
};

// What programs hold: a handle is the address, until it is given back.
struct Graphs {
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::unique_ptr<Executable>> executables;
  std::vector<HeldObject> objects;  // that the program holds itself
  hipGraph_t keep(std::unique_ptr<Graph> graph);
};
Graphs& graphs();
// Those, graphs into which a stream is being captured, and the children of all of them.
std::vector<Graph*> known_graphs();
Graph* graph_of(const char* call, hipGraph_t handle);      // null after a fault that names the call
Graph* owner_of(const char* call, hipGraphNode_t handle);  // likewise: the graph of a node
[[nodiscard]] inline hipGraphNode_t node_handle(const Node* node) {
  return reinterpret_cast<hipGraphNode_t>(const_cast<Node*>(node));
}
[[nodiscard]] inline Node* node_of(hipGraphNode_t handle) {
  return reinterpret_cast<Node*>(handle);
}
// Answers of nodes as HIP gives them: how many there are, or as many as fit.
hipError_t give_nodes(std::span<const Node* const> nodes, hipGraphNode_t* out, std::size_t* count);
// The node of an executable graph that was made of `node`, with work of this kind; null after a
// fault.
Node* node_in(const char* call, hipGraphExec_t executable, hipGraphNode_t node);
hipError_t change(const char* call, hipGraphExec_t executable, hipGraphNode_t node, Work work);

// Does it now, as run() of copies and fills.
hipError_t run(const Work& work);
hipError_t run_in_order(std::span<const Node* const> order);

}  // namespace mla::hip_runtime
