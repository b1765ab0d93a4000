#include "hip_backend/hip_runtime/graph.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/launch.hpp"
#include "hip_backend/hip_runtime/order.hpp"

namespace mla::hip_runtime {

Node* Graph::add(Work work, std::vector<const Node*> after) {
  static std::uint64_t last = 0;  // under a Turn
  std::vector<const Node*> once;
  for (const Node* const node : after)
    if (std::find(once.begin(), once.end(), node) == once.end()) once.push_back(node);
  after = std::move(once);
  nodes.push_back(
      std::make_unique<Node>(Node{std::move(work), std::move(after), ++last, true, {}}));
  return nodes.back().get();
}

bool Graph::holds(const Node* node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& n) { return n.get() == node; });
}

std::unique_ptr<Graph> Graph::copy() const {
  auto out = std::make_unique<Graph>();
  out->objects = objects;
  std::map<const Node*, const Node*> copies;
  for (const auto& node : nodes) {
    out->nodes.push_back(std::make_unique<Node>(*node));
    if (auto* const child = std::get_if<GraphWork>(&out->nodes.back()->work))
      child->graph = child->graph->copy();
    copies[node.get()] = out->nodes.back().get();
  }
  for (const auto& node : out->nodes)
    for (const Node*& before : node->after) before = copies.at(before);
  return out;
}

std::optional<std::vector<const Node*>> Graph::order() const {
  std::vector<const Node*> out;
  std::set<const Node*> done;
  while (out.size() < nodes.size()) {
    const std::size_t before = out.size();
    for (const auto& node : nodes) {
      const auto is_done = [&](const Node* n) { return done.contains(n); };
      if (is_done(node.get()) || !std::all_of(node->after.begin(), node->after.end(), is_done))
        continue;
      done.insert(node.get());
      out.push_back(node.get());
    }
    if (out.size() == before) return std::nullopt;
  }
  return out;
}

bool Graph::ends_with(std::span<const Node* const> last) const {
  std::set<const Node*> seen;
  std::vector<const Node*> open(last.begin(), last.end());
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (seen.insert(node).second) open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return seen.size() == nodes.size();
}

// Never destroyed: at the end of a program nobody calls for its objects any more.
Graphs& graphs() {
  static Graphs& all = *new Graphs;
  return all;
}

hipGraph_t Graphs::keep(std::unique_ptr<Graph> graph) {
  graphs.push_back(std::move(graph));
  return reinterpret_cast<hipGraph_t>(graphs.back().get());
}

Graph* graph_of(const char* call, hipGraph_t handle) {
  for (Graph* const graph : known_graphs())
    if (reinterpret_cast<hipGraph_t>(graph) == handle) return graph;
  fault(hipErrorInvalidHandle, say(call, ": this is no graph that was made and not destroyed"));
  return nullptr;
}

Graph* owner_of(const char* call, hipGraphNode_t handle) {
  for (Graph* const graph : known_graphs())
    if (graph->holds(node_of(handle))) return graph;
  fault(hipErrorInvalidHandle, say(call, ": this is no node of a graph"));
  return nullptr;
}

hipError_t give_nodes(std::span<const Node* const> nodes, hipGraphNode_t* out, std::size_t* count) {
  if (count == nullptr) return keep(hipErrorInvalidValue);
  const std::size_t fits = out == nullptr ? 0 : std::min(*count, nodes.size());
  for (std::size_t k = 0; k < fits; ++k) out[k] = node_handle(nodes[k]);
  return *count = out == nullptr ? nodes.size() : fits, hipSuccess;
}

namespace {

// The nodes of a graph that is launched: its first branch is in the line of the launch.
class Branches {
 public:
  Branches() : begin_(order().now()), end_(begin_), first_(order().moment().line) {}
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;
  ~Branches() {
    order().now() = end_;
    for (const Line line : taken_) order().give_back(line);
  }
  void begin(const Node& node);
  void end(const Node& node);

 private:
  struct State {
    Clock clock;
    Line line = 0;
    bool goes_on = false;  // a node after it has its line
  };
  [[nodiscard]] Line line_for(const Node& node, const Clock& before);

  Clock begin_, end_;
  Line first_;  // 0: taken
  std::vector<Line> taken_;
  std::map<const Node*, State> done_;
};

Line Branches::line_for(const Node& node, const Clock& before) {
  for (const Node* const earlier : node.after) {
    State& state = done_[earlier];
    if (state.goes_on) continue;
    state.goes_on = true;
    return state.line;
  }
  if (node.after.empty() && first_ != 0) return std::exchange(first_, 0);
  return taken_.emplace_back(order().line_after(before));
}

void Branches::begin(const Node& node) {
  Clock before = begin_;
  for (const Node* const earlier : node.after) before.join(done_[earlier].clock);
  const Line line = line_for(node, before);
  order().step(line, before);
  done_[&node].line = line;
}

void Branches::end(const Node& node) {
  done_[&node].clock = order().now();
  end_.join(order().now());
}

// Whether the code of a kernel is loaded still: a graph can outlive it.
bool is_loaded(const Unit* unit) {
  const Runtime& r = runtime();
  const auto is_it = [&](const auto& u) { return u.get() == unit; };
  const auto has_it = [&](const auto& m) { return &m->unit == unit; };
  return std::any_of(r.units.begin(), r.units.end(), is_it) ||
         std::any_of(r.modules.begin(), r.modules.end(), has_it);
}

hipError_t run(const KernelWork& work) {
  if (!is_loaded(work.function.unit))
    return fault(hipErrorInvalidHandle,
                 say("a graph launches ", work.function.name, ", whose module was unloaded"));
  const bool by_handle = !runtime().functions.contains(work.named);
  return launch(work.function, work.grid, work.block, work.kernarg, work.dynamic_lds, by_handle);
}
hipError_t run(std::monostate) {
  return hipSuccess;
}
hipError_t run(const HostWork& work) {
  // It may tell the host that what came before is done.
  order().host_waits(order().now());
  return work.function(work.data), hipSuccess;
}
hipError_t run(const GraphWork& work) {
  return run_in_order(*work.graph->order());
}

}  // namespace

hipError_t run(const Work& work) {
  return std::visit([](const auto& one) { return run(one); }, work);
}

hipError_t run_in_order(std::span<const Node* const> order) {
  Branches branches;
  for (const Node* const node : order) {
    branches.begin(*node);
    if (node->enabled)
      if (const auto bad = run(node->work)) return bad;
    branches.end(*node);
  }
  return hipSuccess;
}

}  // namespace mla::hip_runtime
