// Claims about the modelled device: order, lateness, waits, lifetimes, the locked workspace.
#include <numeric>
#include <optional>

#include "core/engine/device/stream.hpp"
#include "core/engine/device/workspace.hpp"
#include "tests/catch.hpp"

using namespace mla::device;
using mla::ErrorCode;

namespace {

struct Device {
  DeviceHeap heap;
  TransferLedger ledger;
  Stream stream{ledger};
};

}  // namespace

TEST_CASE("device: operations run in order, when the host waits and not before", "[device][P20]") {
  Device d;
  const DeviceBuffer<int> numbers(d.heap, "numbers", 4);
  const std::vector<int> source{1, 2, 3, 4};
  std::string order;
  d.stream.copy_to_device<int>("upload", source, numbers.view());
  d.stream.launch("double", [&, v = numbers.view()](const DeviceAccess& access) {
    for (int& n : v.on(access)) n *= 2;
    order += "d";
  });
  CHECK(order.empty());
  CHECK(d.stream.pending() == 2);
  std::vector<int> back(4);
  d.stream.copy_to_host("result", numbers.view(), std::span(back));
  CHECK(back == std::vector<int>{2, 4, 6, 8});
  CHECK(d.ledger.waits().size() == 1);
  CHECK(d.ledger.waits()[0].name == "result");
  CHECK(d.ledger.waits()[0].bytes == 16);
}

TEST_CASE("device: a source that the host reuses too early arrives changed", "[device][BUG-082]") {
  Device d;
  const DeviceBuffer<int> plan(d.heap, "plan", 1);
  std::vector<int> staging{1};
  d.stream.copy_to_device<int>("step 1", staging, plan.view());
  staging[0] = 2;
  d.stream.advance();
  std::vector<int> seen(1);
  d.stream.copy_to_host("look", plan.view(), std::span(seen));
  CHECK(seen[0] == 2);
}

TEST_CASE("device: a copy on another stream overtakes what is queued", "[device][BUG-082]") {
  Device d;
  const DeviceBuffer<int> plan(d.heap, "plan", 1);
  const std::vector<int> first{1};
  const std::vector<int> second{2};
  int seen = 0;
  d.stream.copy_to_device<int>("step 1", first, plan.view());
  d.stream.advance();
  d.stream.launch("kernel of step 1",
                  [&seen, v = plan.view()](const DeviceAccess& access) { seen = v.on(access)[0]; });
  Stream other(d.ledger);
  other.copy_to_device<int>("step 2", second, plan.view());
  other.advance();
  d.stream.advance();
  CHECK(seen == 2);
}

TEST_CASE("device: a graph replays on the same views with new contents", "[device][P19]") {
  Device d;
  const DeviceBuffer<int> in(d.heap, "in", 2);
  const DeviceBuffer<int> out(d.heap, "out", 1);
  d.stream.begin_capture();
  d.stream.launch("sum", [a = in.view(), b = out.view()](const DeviceAccess& access) {
    const auto values = a.on(access);
    b.on(access)[0] = std::accumulate(values.begin(), values.end(), 0);
  });
  const Graph graph = d.stream.end_capture();
  CHECK(graph.names() == std::vector<std::string>{"sum"});
  CHECK(d.stream.pending() == 0);
  for (const int n : {5, 9}) {
    const std::vector<int> data{n, 1};
    d.stream.copy_to_device<int>("data", data, in.view());
    d.stream.replay(graph);
    std::vector<int> sum(1);
    d.stream.copy_to_host("sum", out.view(), std::span(sum));
    CHECK(sum[0] == n + 1);
  }
}

TEST_CASE("device: a graph that outlives its buffer is a fault with both names",
          "[device][P19][BUG-068]") {
  Device d;
  Graph graph;
  {
    const DeviceBuffer<int> split_indptr(d.heap, "split_indptr", 1);
    d.stream.begin_capture();
    d.stream.launch("merge",
                    [v = split_indptr.view()](const DeviceAccess& access) { v.on(access)[0] = 1; });
    graph = d.stream.end_capture();
  }
  d.stream.replay(graph);
  d.stream.advance();
  REQUIRE(d.heap.faults().size() == 1);
  CHECK(d.heap.faults()[0] == "merge touches split_indptr, which was freed");
}

TEST_CASE("device: memory holds poison before anybody wrote it, and once it is freed",
          "[device][P19][BUG-068]") {
  Device d;
  std::vector<int> seen;
  const auto look = [&](const DeviceView<int>& view) {
    d.stream.launch("look", [&seen, view](const DeviceAccess& access) {
      seen.push_back(view.on(access)[0]);
      view.on(access)[0] = 7;
    });
    d.stream.advance();
  };
  std::optional<DeviceBuffer<int>> buffer(std::in_place, d.heap, "rows", 1);
  const auto view = buffer->view();
  look(view);
  look(view);
  buffer.reset();
  look(view);
  REQUIRE(seen.size() == 3);
  CHECK(seen[0] == seen[2]);
  CHECK(seen[1] == 7);
  CHECK(seen[2] != 7);
}

TEST_CASE("workspace: reserved at the start, locked afterwards, one holder at a time",
          "[device][P22][BUG-089]") {
  Device d;
  Workspace workspace(d.heap);
  CHECK_FALSE(workspace.acquire("decode", 1).ok());
  REQUIRE_FALSE(workspace.reserve("decode", 100).has_value());
  REQUIRE_FALSE(workspace.reserve("prefill", 60).has_value());
  workspace.lock();
  CHECK(workspace.reserve("late", 1)->bug == "BUG-089");
  CHECK(workspace.acquire("prefill", 101).error().code == ErrorCode::overrun);
  {
    const auto lease = workspace.acquire("decode", 100);
    REQUIRE(lease.ok());
    CHECK(lease->view().size() == 100);
    CHECK(workspace.acquire("prefill", 1).error().message.find("decode holds it") !=
          std::string::npos);
  }
  CHECK(workspace.acquire("prefill", 60).ok());
}
