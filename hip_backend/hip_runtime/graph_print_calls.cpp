// A graph as text for Graphviz.
#include <fstream>
#include <map>
#include <string>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/graph.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

std::string text_of(const dim3& size) {
  return say(size.x, " x ", size.y, " x ", size.z);
}
std::string label_of(std::monostate) {
  return "empty";
}
std::string label_of(const KernelWork& work) {
  return say("kernel ", work.function.name, "\\n", text_of(work.grid), " blocks of ",
             text_of(work.block), " threads, ", work.dynamic_lds, " bytes of LDS");
}
std::string label_of(const CopyWork& work) {
  return say("copy\\n", work.extent.width, " bytes, ", work.extent.height, " rows, ",
             work.extent.depth, " slices");
}
std::string label_of(const FillWork& work) {
  return say("fill with ", work.value, "\\n", work.extent.width, " bytes, ", work.extent.height,
             " rows");
}
std::string label_of(const HostWork&) {
  return "host function";
}
std::string label_of(const GraphWork&) {
  return "graph";
}

// Each node has a number of its own, in a child too.
void print(std::ofstream& file, const Graph& graph, std::size_t& next) {
  std::map<const Node*, std::size_t> numbers;
  for (const auto& node : graph.nodes) {
    const std::size_t number = numbers[node.get()] = next++;
    file << "  n" << number << " [label=\""
         << std::visit([](const auto& work) { return label_of(work); }, node->work) << "\"];\n";
    const auto* const child = std::get_if<GraphWork>(&node->work);
    if (child == nullptr) continue;
    file << "  subgraph cluster_n" << number << " {\n";
    print(file, *child->graph, next);
    file << "  }\n";
  }
  for (const auto& node : graph.nodes)
    for (const Node* const before : node->after)
      file << "  n" << numbers[before] << " -> n" << numbers[node.get()] << ";\n";
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" hipError_t hipGraphDebugDotPrint(hipGraph_t handle, const char* path, unsigned) {
  const rt::Turn turn;
  if (path == nullptr) return rt::keep(hipErrorInvalidValue);
  const rt::Graph* const graph = rt::graph_of("hipGraphDebugDotPrint", handle);
  if (graph == nullptr) return rt::last_error();
  std::ofstream file(path);
  std::size_t next = 0;
  file << "digraph graph_of_hip {\n";
  rt::print(file, *graph, next);
  file << "}\n";
  file.close();
  if (file) return hipSuccess;
  return rt::fault(hipErrorOperatingSystem,
                   mla::say("hipGraphDebugDotPrint: cannot write '", path, "'"));
}
