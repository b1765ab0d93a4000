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
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;

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
  hipGraph_t keep(std::unique_ptr<Graph> graph);
};
Graphs& graphs();
Graph* graph_of(const char* call, hipGraph_t handle);  // null after a fault that names the call

// Does it now, as run() of copies and fills.
hipError_t run(const Work& work);
hipError_t run_in_order(std::span<const Node* const> order);

}  // namespace mla::hip_runtime
