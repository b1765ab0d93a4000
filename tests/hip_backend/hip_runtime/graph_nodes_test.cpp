// What is asked of a graph's nodes, objects that a graph holds, and captures that are taken apart.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "device_word.hpp"

namespace hip = mla::hip_runtime;
using hip_program::count_up;
using hip_program::DeviceWord;

namespace {

using Nodes = std::vector<hipGraphNode_t>;

// A fill with 1, a kernel that adds 4 to what it multiplies by 3, a copy of the word to `seen`.
struct Chain {
  DeviceWord word;
  std::int32_t* address = word.address();
  std::int32_t factor = 3, addend = 4, seen = 0;
  hipGraph_t graph = nullptr;
  hipGraphNode_t fill = nullptr, kernel = nullptr, copy = nullptr;
  Chain() {
    REQUIRE(hipGraphCreate(&graph, 0) == hipSuccess);
    const hipMemsetParams ones = {
        .dst = address, .elementSize = 4, .height = 1, .pitch = 0, .value = 1, .width = 1};
    REQUIRE(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &ones) == hipSuccess);
    void* arguments[] = {&address, &factor, &addend};
    const hipKernelNodeParams step = {.blockDim = 1,
                                      .extra = nullptr,
                                      .func = const_cast<void*>(hip_program::step_word()),
                                      .gridDim = 1,
                                      .kernelParams = arguments,
                                      .sharedMemBytes = 0};
    REQUIRE(hipGraphAddKernelNode(&kernel, graph, &fill, 1, &step) == hipSuccess);
    REQUIRE(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, &seen, address, 4,
                                    hipMemcpyDeviceToHost) == hipSuccess);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  ~Chain() { (void)hipGraphDestroy(graph); }
  [[nodiscard]] hipGraphExec_t executable() const {
    hipGraphExec_t out = nullptr;
    REQUIRE(hipGraphInstantiateWithFlags(&out, graph, 0) == hipSuccess);
    return out;
  }
  [[nodiscard]] std::int32_t run() {
    const hipGraphExec_t made = executable();
    REQUIRE(hipGraphLaunch(made, nullptr) == hipSuccess);
    REQUIRE(hipGraphExecDestroy(made) == hipSuccess);
    return seen;
  }
};

}  // namespace

TEST_CASE("edges and dependent nodes are listed, added once and removed") {
  Chain chain;
  std::size_t count = 9;
  REQUIRE(hipGraphGetEdges(chain.graph, nullptr, nullptr, &count) == hipSuccess);
  CHECK(count == 2);
  Nodes from(3), to(3);
  count = 3;
  REQUIRE(hipGraphGetEdges(chain.graph, from.data(), to.data(), &count) == hipSuccess);
  CHECK(count == 2);
  CHECK(from == Nodes{chain.fill, chain.kernel, nullptr});
  CHECK(to == Nodes{chain.kernel, chain.copy, nullptr});
  count = 1;
  REQUIRE(hipGraphGetEdges(chain.graph, from.data(), to.data(), &count) == hipSuccess);
  CHECK(count == 1);
  Nodes dependent(2);
  count = 2;
  REQUIRE(hipGraphNodeGetDependentNodes(chain.fill, dependent.data(), &count) == hipSuccess);
  CHECK(count == 1);
  CHECK(dependent[0] == chain.kernel);
  REQUIRE(hipGraphAddDependencies(chain.graph, &chain.fill, &chain.copy, 1) == hipSuccess);
  (void)hip::take_launched();
  CHECK(hipGraphAddDependencies(chain.graph, &chain.fill, &chain.copy, 1) == hipErrorInvalidValue);
  CHECK(hipGraphAddDependencies(chain.graph, &chain.fill, &chain.fill, 1) == hipErrorInvalidValue);
  REQUIRE(hipGraphRemoveDependencies(chain.graph, &chain.fill, &chain.copy, 1) == hipSuccess);
  CHECK(hipGraphRemoveDependencies(chain.graph, &chain.fill, &chain.copy, 1) ==
        hipErrorInvalidValue);
  CHECK(hip::take_launched().faults.back() ==
        "hipGraphRemoveDependencies: edge 0 is not in the graph");
  CHECK(hipGraphGetEdges(chain.graph, from.data(), nullptr, &count) == hipErrorInvalidValue);
  CHECK(chain.run() == 7);
  (void)hipGetLastError();
}

TEST_CASE("a node gives its parameters, and takes others of its kind") {
  Chain chain;
  hipKernelNodeParams kernel = {};
  REQUIRE(hipGraphKernelNodeGetParams(chain.kernel, &kernel) == hipSuccess);
  CHECK(kernel.func == hip_program::step_word());
  CHECK(kernel.gridDim.x == 1);
  CHECK(*static_cast<std::int32_t*>(kernel.kernelParams[1]) == 3);
  CHECK(*static_cast<std::int32_t**>(kernel.kernelParams[0]) == chain.address);
  std::int32_t addend = 40;
  kernel.kernelParams[2] = &addend;
  REQUIRE(hipGraphKernelNodeSetParams(chain.kernel, &kernel) == hipSuccess);
  CHECK(chain.run() == 43);
  hipMemsetParams fill = {};
  REQUIRE(hipGraphMemsetNodeGetParams(chain.fill, &fill) == hipSuccess);
  CHECK(fill.dst == chain.address);
  CHECK(fill.width == 1);
  CHECK(fill.elementSize == 4);
  fill.value = 2;
  REQUIRE(hipGraphMemsetNodeSetParams(chain.fill, &fill) == hipSuccess);
  hipMemcpy3DParms copy = {};
  REQUIRE(hipGraphMemcpyNodeGetParams(chain.copy, &copy) == hipSuccess);
  CHECK(copy.dstPtr.ptr == &chain.seen);
  CHECK(copy.extent.width == 4);
  std::int32_t other = 0;
  copy.dstPtr.ptr = &other;
  REQUIRE(hipGraphMemcpyNodeSetParams(chain.copy, &copy) == hipSuccess);
  (void)chain.run();
  CHECK(other == 46);
  REQUIRE(hipGraphMemcpyNodeSetParams1D(chain.copy, &chain.seen, chain.address, 4,
                                        hipMemcpyDeviceToHost) == hipSuccess);
  CHECK(chain.run() == 46);
  int calls = 0;
  hipGraphNode_t host = nullptr;
  hipHostNodeParams call = {count_up, &calls};
  REQUIRE(hipGraphAddHostNode(&host, chain.graph, nullptr, 0, &call) == hipSuccess);
  int others = 0;
  REQUIRE(hipGraphHostNodeGetParams(host, &call) == hipSuccess);
  CHECK(call.userData == &calls);
  call.userData = &others;
  REQUIRE(hipGraphHostNodeSetParams(host, &call) == hipSuccess);
  (void)chain.run();
  CHECK(calls == 0);
  CHECK(others == 1);
  (void)hip::take_launched();
  CHECK(hipGraphKernelNodeGetParams(chain.fill, &kernel) == hipErrorInvalidValue);
  CHECK(hipGraphMemsetNodeSetParams(chain.copy, &fill) == hipErrorInvalidValue);
  CHECK(hipGraphKernelNodeGetParams(reinterpret_cast<hipGraphNode_t>(&calls), &kernel) ==
        hipErrorInvalidHandle);
  CHECK(hip::take_launched().faults.front() ==
        "hipGraphKernelNodeGetParams: the node is of another kind");
  CHECK(hipGraphHostNodeGetParams(host, nullptr) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("a node is found in a clone and in a child, and an executable graph leaves nodes out") {
  Chain chain;
  hipGraph_t clone = nullptr, parent = nullptr, child = nullptr;
  hipGraphNode_t found = nullptr, of_child = nullptr;
  REQUIRE(hipGraphClone(&clone, chain.graph) == hipSuccess);
  REQUIRE(hipGraphNodeFindInClone(&found, chain.kernel, clone) == hipSuccess);
  hipGraphNodeType type{};
  REQUIRE(hipGraphNodeGetType(found, &type) == hipSuccess);
  CHECK(type == hipGraphNodeTypeKernel);
  CHECK(found != chain.kernel);
  REQUIRE(hipGraphCreate(&parent, 0) == hipSuccess);
  REQUIRE(hipGraphAddChildGraphNode(&of_child, parent, nullptr, 0, chain.graph) == hipSuccess);
  REQUIRE(hipGraphChildGraphNodeGetGraph(of_child, &child) == hipSuccess);
  std::size_t count = 0;
  REQUIRE(hipGraphGetNodes(child, nullptr, &count) == hipSuccess);
  CHECK(count == 3);
  (void)hip::take_launched();
  CHECK(hipGraphDestroy(child) == hipErrorInvalidValue);
  CHECK(hip::take_launched().faults.front() ==
        "hipGraphDestroy: the graph belongs to a node, or to a capture that has not ended");
  CHECK(hipGraphNodeFindInClone(&found, of_child, clone) == hipErrorInvalidValue);

  const hipGraphExec_t made = chain.executable();
  unsigned enabled = 7;
  REQUIRE(hipGraphNodeSetEnabled(made, chain.kernel, 0) == hipSuccess);
  REQUIRE(hipGraphNodeGetEnabled(made, chain.kernel, &enabled) == hipSuccess);
  CHECK(enabled == 0);
  REQUIRE(hipGraphLaunch(made, nullptr) == hipSuccess);
  CHECK(chain.seen == 1);
  REQUIRE(hipGraphNodeSetEnabled(made, chain.kernel, 1) == hipSuccess);
  REQUIRE(hipGraphLaunch(made, nullptr) == hipSuccess);
  CHECK(chain.seen == 7);
  hipMemcpy3DParms copy = {};
  std::int32_t other = 0;
  REQUIRE(hipGraphMemcpyNodeGetParams(chain.copy, &copy) == hipSuccess);
  copy.dstPtr.ptr = &other;
  REQUIRE(hipGraphExecMemcpyNodeSetParams(made, chain.copy, &copy) == hipSuccess);
  REQUIRE(hipGraphLaunch(made, nullptr) == hipSuccess);
  CHECK(other == 7);
  hipGraphExec_t of_parent = nullptr;
  REQUIRE(hipGraphInstantiateWithFlags(&of_parent, parent, 0) == hipSuccess);
  // An executable graph has children of its own.
  Nodes of_graph(3);
  REQUIRE(hipGraphGetNodes(child, of_graph.data(), &(count = 3)) == hipSuccess);
  hipMemsetParams fill = {};
  REQUIRE(hipGraphMemsetNodeGetParams(of_graph[0], &fill) == hipSuccess);
  fill.value = 100;
  REQUIRE(hipGraphMemsetNodeSetParams(of_graph[0], &fill) == hipSuccess);
  REQUIRE(hipGraphLaunch(of_parent, nullptr) == hipSuccess);
  CHECK(chain.seen == 7);
  hipGraph_t nothing = nullptr;
  REQUIRE(hipGraphCreate(&nothing, 0) == hipSuccess);
  chain.seen = 0;
  REQUIRE(hipGraphExecChildGraphNodeSetParams(of_parent, of_child, nothing) == hipSuccess);
  REQUIRE(hipGraphLaunch(of_parent, nullptr) == hipSuccess);
  CHECK(chain.seen == 0);
  CHECK(hipGraphNodeSetEnabled(of_parent, of_child, 0) == hipErrorInvalidValue);
  for (const hipGraphExec_t each : {made, of_parent})
    REQUIRE(hipGraphExecDestroy(each) == hipSuccess);
  for (const hipGraph_t each : {clone, parent, nothing})
    REQUIRE(hipGraphDestroy(each) == hipSuccess);
  (void)hip::take_launched();
  (void)hipGetLastError();
}

TEST_CASE("a graph is printed with its nodes and edges") {
  Chain chain;
  const auto path = std::filesystem::temp_directory_path() / "mla_graph_" MLA_ARCH ".dot";
  REQUIRE(hipGraphDebugDotPrint(chain.graph, path.c_str(), hipGraphDebugDotFlagsVerbose) ==
          hipSuccess);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text.starts_with("digraph graph_of_hip {\n  n0 [label=\"fill with 1\\n"));
  CHECK(text.find("step_word_kernel") != std::string::npos);
  CHECK(text.find("  n0 -> n1;\n  n1 -> n2;\n}\n") != std::string::npos);
  std::filesystem::remove(path);
  (void)hip::take_launched();
  CHECK(hipGraphDebugDotPrint(chain.graph, "/no/such/folder/a.dot", 0) == hipErrorOperatingSystem);
  CHECK(hip::take_launched().faults.size() == 1);
  (void)hipGetLastError();
}

TEST_CASE("an object is destroyed when neither the program nor a graph holds it") {
  int destroyed = 0;
  hipUserObject_t object = nullptr;
  REQUIRE(hipUserObjectCreate(&object, &destroyed, count_up, 2, hipUserObjectNoDestructorSync) ==
          hipSuccess);
  hipGraph_t graph = nullptr;
  REQUIRE(hipGraphCreate(&graph, 0) == hipSuccess);
  REQUIRE(hipGraphRetainUserObject(graph, object, 1, hipGraphUserObjectMove) == hipSuccess);
  REQUIRE(hipUserObjectRetain(object) == hipSuccess);
  REQUIRE(hipUserObjectRelease(object, 2) == hipSuccess);
  CHECK(destroyed == 0);
  hipGraphExec_t made = nullptr;
  REQUIRE(hipGraphInstantiateWithFlags(&made, graph, 0) == hipSuccess);
  REQUIRE(hipGraphDestroy(graph) == hipSuccess);
  CHECK(destroyed == 0);  // the executable graph has it still
  REQUIRE(hipGraphExecDestroy(made) == hipSuccess);
  CHECK(destroyed == 1);
  (void)hip::take_launched();
  CHECK(hipUserObjectRelease(object) == hipErrorInvalidHandle);
  CHECK(hipUserObjectRetain(object) == hipErrorInvalidHandle);
  REQUIRE(hipUserObjectCreate(&object, &destroyed, count_up, 1, hipUserObjectNoDestructorSync) ==
          hipSuccess);
  CHECK(hipUserObjectRelease(object, 2) == hipErrorInvalidValue);
  CHECK(hip::take_launched().faults.back() ==
        "hipUserObjectRelease: 2 references of 1 that are held");
  REQUIRE(hipUserObjectRelease(object) == hipSuccess);
  CHECK(destroyed == 2);
  CHECK(hipUserObjectCreate(&object, &destroyed, count_up, 1, 0) == hipErrorInvalidValue);
  CHECK(hipUserObjectCreate(&object, &destroyed, nullptr, 1, 1) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("nodes are added to a capture by hand, and the stream goes on after them") {
  DeviceWord word;
  hipStream_t stream = nullptr;
  REQUIRE(hipStreamCreate(&stream) == hipSuccess);
  REQUIRE(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal) == hipSuccess);
  REQUIRE(word.step(1, 1, stream) == hipSuccess);
  hipStreamCaptureStatus status{};
  unsigned long long id = 0;
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* after = nullptr;
  std::size_t count = 0;
  REQUIRE(hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &after, &count) == hipSuccess);
  CHECK(status == hipStreamCaptureStatusActive);
  CHECK(id != 0);
  REQUIRE(count == 1);
  int calls = 0;
  const hipHostNodeParams host = {count_up, &calls};
  hipGraphNode_t node = nullptr;
  REQUIRE(hipGraphAddHostNode(&node, graph, after, count, &host) == hipSuccess);
  REQUIRE(hipStreamUpdateCaptureDependencies(stream, &node, 1, hipStreamSetCaptureDependencies) ==
          hipSuccess);
  REQUIRE(hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &after, &count) == hipSuccess);
  REQUIRE(count == 1);
  CHECK(after[0] == node);
  REQUIRE(word.step(10, 0, stream) == hipSuccess);
  (void)hip::take_launched();
  auto stranger = reinterpret_cast<hipGraphNode_t>(&calls);
  CHECK(hipStreamUpdateCaptureDependencies(stream, &stranger, 1) == hipErrorInvalidValue);
  CHECK(hipGraphDestroy(graph) == hipErrorInvalidValue);
  CHECK(hipStreamWriteValue32(stream, word.address(), 1, 0) == hipErrorStreamCaptureUnsupported);
  (void)hip::take_launched();
  hipGraph_t captured = nullptr;
  REQUIRE(hipStreamEndCapture(stream, &captured) == hipSuccess);
  CHECK(captured == graph);
  hipGraphExec_t made = nullptr;
  REQUIRE(hipGraphInstantiateWithFlags(&made, captured, 0) == hipSuccess);
  REQUIRE(hipGraphLaunch(made, nullptr) == hipSuccess);
  CHECK(word.value() == 10);
  CHECK(calls == 1);
  CHECK(hipStreamUpdateCaptureDependencies(stream, &node, 1) == hipErrorIllegalState);
  REQUIRE(hipStreamGetCaptureInfo_v2(stream, &status) == hipSuccess);
  CHECK(status == hipStreamCaptureStatusNone);
  REQUIRE(hipGraphExecDestroy(made) == hipSuccess);
  REQUIRE(hipGraphDestroy(captured) == hipSuccess);
  REQUIRE(hipStreamDestroy(stream) == hipSuccess);
  (void)hipGetLastError();
}
