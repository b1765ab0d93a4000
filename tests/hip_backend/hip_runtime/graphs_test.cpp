// Graphs that a program makes node by node, and changes.
#include <algorithm>

#include "device_word.hpp"

namespace hip = mla::hip_runtime;
using hip_program::count_up;
using hip_program::DeviceWord;

namespace {

struct StepArguments {
  std::int32_t* word;
  std::int32_t factor, addend;
  void* pointers[3] = {&word, &factor, &addend};
  StepArguments(const DeviceWord& of, std::int32_t f, std::int32_t a)
      : word(of.address()), factor(f), addend(a) {}
  StepArguments(const StepArguments&) = delete;
  StepArguments& operator=(const StepArguments&) = delete;
  [[nodiscard]] hipKernelNodeParams node() {
    return {.blockDim = 1,
            .extra = nullptr,
            .func = const_cast<void*>(hip_program::step_word()),
            .gridDim = 1,
            .kernelParams = pointers,
            .sharedMemBytes = 0};
  }
};

hipGraph_t made() {
  hipGraph_t graph = nullptr;
  REQUIRE(hipGraphCreate(&graph, 0) == hipSuccess);
  return graph;
}

hipGraphNode_t step(hipGraph_t graph, const DeviceWord& word, std::int32_t factor,
                    std::int32_t addend, const std::vector<hipGraphNode_t>& after = {}) {
  StepArguments arguments(word, factor, addend);
  const auto parameters = arguments.node();
  hipGraphNode_t node = nullptr;
  REQUIRE(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters) ==
          hipSuccess);
  return node;
}

hipGraphExec_t executable_of(hipGraph_t graph) {
  hipGraphExec_t out = nullptr;
  REQUIRE(hipGraphInstantiateWithFlags(&out, graph, 0) == hipSuccess);
  return out;
}

}  // namespace

TEST_CASE("nodes run after those that they wait for, in whatever order they were added") {
  DeviceWord word;
  const hipGraph_t graph = made();
  const hipGraphNode_t last = step(graph, word, 10, 0), first = step(graph, word, 1, 4);
  REQUIRE(hipGraphAddDependencies(graph, &first, &last, 1) == hipSuccess);
  const hipGraphExec_t executable = executable_of(graph);
  REQUIRE(hipGraphLaunch(executable, nullptr) == hipSuccess);
  CHECK(word.value() == 40);

  std::size_t count = 0;
  REQUIRE(hipGraphGetNodes(graph, nullptr, &count) == hipSuccess);
  CHECK(count == 2);
  hipGraphNode_t root[2] = {};
  REQUIRE(hipGraphGetRootNodes(graph, root, &count) == hipSuccess);
  CHECK(count == 1);
  CHECK(root[0] == first);
  REQUIRE(hipGraphNodeGetDependencies(last, root, &(count = 2)) == hipSuccess);
  CHECK(count == 1);

  (void)hip::take_launched();
  REQUIRE(hipGraphAddDependencies(graph, &last, &first, 1) == hipSuccess);
  hipGraphExec_t none = nullptr;
  CHECK(hipGraphInstantiateWithFlags(&none, graph, 0) == hipErrorInvalidValue);
  CHECK(hip::take_launched().faults ==
        std::vector<std::string>{"hipGraphInstantiate: nodes wait for each other"});
  REQUIRE(hipGraphExecDestroy(executable) == hipSuccess);
  REQUIRE(hipGraphDestroy(graph) == hipSuccess);
}

TEST_CASE("copies, fills, host functions and graphs are nodes") {
  DeviceWord word;
  int calls = 0;
  std::int32_t seen = 0;
  const hipGraph_t child = made(), graph = made();
  step(child, word, 1, 1);
  const hipMemsetParams fill = {
      .dst = word.address(), .elementSize = 2, .height = 1, .pitch = 0, .value = 3, .width = 2};
  const hipHostNodeParams host = {count_up, &calls};
  hipGraphNode_t nodes[5] = {};
  REQUIRE(hipGraphAddMemsetNode(&nodes[0], graph, nullptr, 0, &fill) == hipSuccess);
  REQUIRE(hipGraphAddChildGraphNode(&nodes[1], graph, &nodes[0], 1, child) == hipSuccess);
  REQUIRE(hipGraphAddHostNode(&nodes[2], graph, &nodes[1], 1, &host) == hipSuccess);
  REQUIRE(hipGraphAddEmptyNode(&nodes[3], graph, &nodes[2], 1) == hipSuccess);
  REQUIRE(hipGraphAddMemcpyNode1D(&nodes[4], graph, &nodes[3], 1, &seen, word.address(), 4,
                                  hipMemcpyDeviceToHost) == hipSuccess);
  step(child, word, 0, 0);  // the node has the child as it was
  const hipGraphNodeType expected[] = {hipGraphNodeTypeMemset, hipGraphNodeTypeGraph,
                                       hipGraphNodeTypeHost, hipGraphNodeTypeEmpty,
                                       hipGraphNodeTypeMemcpy};
  for (int k = 0; k < 5; ++k) {
    hipGraphNodeType type{};
    REQUIRE(hipGraphNodeGetType(nodes[k], &type) == hipSuccess);
    CHECK(type == expected[k]);
  }
  const hipGraphExec_t executable = executable_of(graph);
  REQUIRE(hipGraphLaunch(executable, nullptr) == hipSuccess);
  REQUIRE(hipGraphLaunch(executable, nullptr) == hipSuccess);
  CHECK(seen == 0x30004);
  CHECK(calls == 2);
  REQUIRE(hipGraphExecDestroy(executable) == hipSuccess);
  REQUIRE(hipGraphDestroy(child) == hipSuccess);
  REQUIRE(hipGraphDestroy(graph) == hipSuccess);
}

TEST_CASE("an executable graph takes other arguments, and those of a graph of the same shape") {
  DeviceWord word;
  const hipGraph_t graph = made();
  const hipGraphNode_t node = step(graph, word, 1, 1);
  const hipGraphExec_t executable = executable_of(graph);
  StepArguments other(word, 1, 10);
  const auto parameters = other.node();
  REQUIRE(hipGraphExecKernelNodeSetParams(executable, node, &parameters) == hipSuccess);
  int calls = 0;
  const hipHostNodeParams host = {count_up, &calls};
  (void)hip::take_launched();
  CHECK(hipGraphExecHostNodeSetParams(executable, node, &host) == hipErrorInvalidValue);
  CHECK(hip::take_launched().faults ==
        std::vector<std::string>{
            "hipGraphExecHostNodeSetParams: the executable graph has no such node"});
  REQUIRE(hipGraphLaunch(executable, nullptr) == hipSuccess);
  CHECK(word.value() == 10);

  hipGraph_t same = nullptr;
  REQUIRE(hipGraphClone(&same, graph) == hipSuccess);
  hipGraphNode_t changed = nullptr;
  hipGraphExecUpdateResult result{};
  REQUIRE(hipGraphExecUpdate(executable, same, &changed, &result) == hipSuccess);
  REQUIRE(hipGraphLaunch(executable, nullptr) == hipSuccess);
  CHECK(word.value() == 11);

  const hipGraphNode_t further = step(same, word, 1, 1);
  CHECK(hipGraphExecUpdate(executable, same, &changed, &result) == hipErrorGraphExecUpdateFailure);
  CHECK(result == hipGraphExecUpdateErrorTopologyChanged);
  CHECK(changed == further);
  const hipGraphExec_t of_two = executable_of(same);
  std::size_t count = 2;
  hipGraphNode_t both[2] = {};
  REQUIRE(hipGraphGetNodes(same, both, &count) == hipSuccess);
  REQUIRE(hipGraphAddDependencies(same, &both[0], &both[1], 1) == hipSuccess);
  CHECK(hipGraphExecUpdate(of_two, same, &changed, &result) == hipErrorGraphExecUpdateFailure);
  CHECK(result == hipGraphExecUpdateErrorTopologyChanged);
  CHECK(changed == both[1]);
  REQUIRE(hipGraphExecDestroy(of_two) == hipSuccess);
  const hipGraph_t another = made();
  CHECK(hipGraphExecUpdate(executable, another, &changed, &result) ==
        hipErrorGraphExecUpdateFailure);
  CHECK(result == hipGraphExecUpdateErrorTopologyChanged);
  REQUIRE(hipGraphAddEmptyNode(&changed, another, nullptr, 0) == hipSuccess);
  CHECK(hipGraphExecUpdate(executable, another, &changed, &result) ==
        hipErrorGraphExecUpdateFailure);
  CHECK(result == hipGraphExecUpdateErrorNodeTypeChanged);
  REQUIRE(hipGraphLaunch(executable, nullptr) == hipSuccess);
  CHECK(word.value() == 12);
  for (const hipGraph_t each : {graph, same, another}) REQUIRE(hipGraphDestroy(each) == hipSuccess);
  REQUIRE(hipGraphExecDestroy(executable) == hipSuccess);
}

TEST_CASE("the first node that fails ends a launch, and is its error") {
  DeviceWord word;
  const hipGraph_t graph = made();
  const hipGraphNode_t first = step(graph, word, 1, 1);
  hipGraphNode_t bad = nullptr;
  REQUIRE(hipGraphAddMemcpyNode1D(&bad, graph, &first, 1, word.address(), word.address(), 8,
                                  hipMemcpyDeviceToDevice) == hipSuccess);
  step(graph, word, 1, 1, {bad});
  const hipGraphExec_t executable = executable_of(graph);
  (void)hip::take_launched();
  CHECK(hipGraphLaunch(executable, nullptr) == hipErrorInvalidValue);
  CHECK(hip::take_launched().faults.size() == 1);
  CHECK(word.value() == 1);
  REQUIRE(hipGraphDestroyNode(bad) == hipSuccess);
  REQUIRE(hipGraphExecDestroy(executable) == hipSuccess);
  const hipGraphExec_t without = executable_of(graph);
  REQUIRE(hipGraphLaunch(without, nullptr) == hipSuccess);
  CHECK(word.value() == 3);
  REQUIRE(hipGraphExecDestroy(without) == hipSuccess);
  REQUIRE(hipGraphDestroy(graph) == hipSuccess);
}

TEST_CASE("handles that are none, or no more, are refused with the name of the call") {
  (void)hip::take_launched();
  int stranger = 0;
  const auto graph = reinterpret_cast<hipGraph_t>(&stranger);
  const auto node = reinterpret_cast<hipGraphNode_t>(&stranger);
  const auto executable = reinterpret_cast<hipGraphExec_t>(&stranger);
  hipGraphExec_t out = nullptr;
  hipGraphNode_t made_node = nullptr;
  CHECK(hipGraphInstantiateWithFlags(&out, graph, 0) == hipErrorInvalidHandle);
  CHECK(hipGraphLaunch(executable, nullptr) == hipErrorInvalidHandle);
  CHECK(hipGraphExecDestroy(executable) == hipErrorInvalidHandle);
  CHECK(hipGraphDestroyNode(node) == hipErrorInvalidHandle);
  const hipGraph_t real = made();
  CHECK(hipGraphAddEmptyNode(&made_node, real, &node, 1) == hipErrorInvalidValue);
  REQUIRE(hipGraphDestroy(real) == hipSuccess);
  CHECK(hipGraphDestroy(real) == hipErrorInvalidHandle);
  const auto faults = hip::take_launched().faults;
  REQUIRE(faults.size() == 6);
  CHECK(faults[1] == "hipGraphLaunch: this is no executable graph, or it was destroyed");
  CHECK(faults[4] == "hipGraphAddEmptyNode: dependency 0 is no node of this graph");
  (void)hipGetLastError();
}
