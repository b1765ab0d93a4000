// A random walk over the decode builder: steps grow, shrink, are padded, change mode and shape on
// the same device buffers. After each one the live part is what a fresh build would have written,
// and a graph that some earlier step captured reads exactly that.
#include <deque>
#include <random>

#include "core/engine/decode_step.hpp"
#include "core/engine/step_hooks.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

struct Walker {
  explicit Walker(std::uint64_t seed) : random(seed) {}

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  }

  // Settings that stay for the whole walk of one engine.
  Case settings() {
    Case c;
    const std::int64_t heads[] = {8, 12, 16, 32, 128};
    c.heads = heads[below(5)];
    c.arch = below(2) == 0 ? Arch::gfx942 : Arch::gfx950;
    c.compute_units = 1 + below(9);
    c.page_size = below(3) == 0 ? 16 : 1;
    c.block_size = c.page_size * (1 + below(3));
    c.layout = {Layout::shuffled, random()};
    if (below(3) == 0) c.dtype = {Dtype::fp8, Dtype::fp8};
    const PlannerChoice planners[] = {PlannerChoice::automatic, PlannerChoice::v12,
                                      PlannerChoice::none};
    c.planner = planners[below(3)];
    c.decode().kernel_rows = below(3) == 0 ? 4 : 0;
    return c;
  }

  Case step(const Case& settings) {
    Case c = settings;
    const std::int64_t q = 1 + below(4);
    const bool ragged = below(4) == 0;
    for (std::int64_t r = below(5); r >= 0; --r) {
      const std::int64_t rows = ragged ? 1 + below(q) : q;
      c.requests.push_back({rows, rows == 1 && below(6) == 0 ? 0 : rows + below(60)});
    }
    c.pad_requests = below(6 - static_cast<std::int64_t>(c.requests.size()));
    c.layout.parameter = random();
    return c;
  }

  std::mt19937_64 random;
};

// Reads a device buffer through the stream, as a debugger would.
std::vector<std::int32_t> look(device::Stream& stream, device::DeviceView<std::int32_t> view) {
  std::vector<std::int32_t> out(view.size());
  stream.copy_to_host("look", view, std::span(out));
  return out;
}

bool starts_with(const std::vector<std::int32_t>& memory, std::span<const std::int32_t> live) {
  return memory.size() >= live.size() && std::equal(live.begin(), live.end(), memory.begin());
}

bool holds(const std::vector<std::int32_t>& memory, const plan::PlanBuffer& fresh) {
  for (std::int64_t i = 0; i < fresh.size(); ++i)
    if (fresh.written(i) && memory[static_cast<std::size_t>(i)] != fresh.at(i)) return false;
  return true;
}

constexpr engine::StepLimits kLimits{.max_requests = 5, .max_qo_len = 4, .max_pages = 5 * 4 * 64};

// One engine: device, builder and buffers live as long as the walk.
struct Engine {
  explicit Engine(const Case& c) : builder(c, kLimits, StepHooks::none()) {
    seq_lens = device::DeviceBuffer<std::int32_t>(heap, "seq_lens", 5);
    table = device::DeviceBuffer<std::int32_t>(heap, "block_table", 5 * 64);
  }

  // Builds one step and compares it with a fresh build; nothing where both refuse.
  std::string walk(const Case& c, bool for_graph) {
    const auto batch = make_batch(c);
    if (!batch) return batch.error().message;
    engine::CommonStep step{.qo_lens = {},
                            .num_rows = batch->rows().count(),
                            .max_kv_len = 64,
                            .seq_lens = seq_lens.view(),
                            .block_table = table.view(),
                            .columns = batch->columns};
    std::vector<std::int32_t> lens;
    for (std::size_t r = 0; r < batch->requests.size(); ++r) {
      const bool padding = std::cmp_greater_equal(r, batch->live.count());
      step.qo_lens.push_back(padding ? 0 : batch->requests[r].qo_len);
      lens.push_back(static_cast<std::int32_t>(padding ? 0 : batch->requests[r].kv_len));
    }
    stream.copy_to_device<std::int32_t>("seq_lens", lens, seq_lens.view());
    stream.copy_to_device<std::int32_t>("block_table", batch->block_table, table.view());
    const auto md = builder.build(step, buffers, stream, for_graph);
    stream.advance();

    const auto shape = resolve_shape(c, *batch);
    if (shape.ok() != md.ok()) return "one of the two shapes is refused";
    if (!shape) return {};
    DecodeBuffers fresh_buffers = make_decode_buffers(c, *batch, *shape);
    const auto fresh =
        DecodeMetadataBuilder({}, StepHooks::none()).lists(*batch, *shape, fresh_buffers);
    if (fresh.ok() == md->report->refused.has_value()) return "one of the two builds is refused";
    if (!fresh) return {};
    if (std::string wrong = compare(*fresh, for_graph); !wrong.empty()) return wrong;
    if (!for_graph) return {};
    for (const Captured& c : captured)
      if (md->same_launch(c.md)) return replay(c, *fresh);
    capture(*md);
    return {};
  }

  // A consumer of the step's metadata, as a captured kernel is one.
  struct Captured {
    engine::StepMetadata md;
    device::Graph graph;
  };

  void capture(const engine::StepMetadata& md) {
    Captured& c = captured.emplace_back(Captured{md, {}});
    c.md.report = std::make_shared<engine::StepReport>();
    stream.begin_capture();
    stream.launch("consumer", [this, &c](const device::DeviceAccess& access) {
      const auto read = c.md.on(access);
      if (!read) return;
      seen_lists.assign(read->qo_indptr.begin(), read->qo_indptr.end());
      seen_lists.insert(seen_lists.end(), read->kv_indptr.begin(), read->kv_indptr.end());
      if (!read->plan) return;
      const auto works = read->plan->work_info.data();
      seen_works.assign(works.begin(), works.end());
    });
    c.graph = stream.end_capture();
  }

  std::string replay(const Captured& c, const DecodeMetadata& fresh) {
    ++replays;
    seen_lists.clear();
    stream.replay(c.graph);
    stream.advance();
    std::vector<std::int32_t> lists(fresh.qo_indptr.begin(), fresh.qo_indptr.end());
    lists.insert(lists.end(), fresh.kv_indptr.begin(), fresh.kv_indptr.end());
    if (seen_lists != lists) return "lists that the captured launch reads";
    if (fresh.shape.route == Route::split) return {};
    const auto plan = plan_step(plan_input_of(fresh, {}), buffers.sizes);
    if (!plan) return plan.error().message;
    if (!holds(seen_works, plan->work_info)) return "works that the captured launch reads";
    return {};
  }

  std::string compare(const DecodeMetadata& fresh, bool for_graph) {
    if (!starts_with(look(stream, buffers.qo_indptr.view()), fresh.qo_indptr)) return "qo_indptr";
    if (!starts_with(look(stream, buffers.kv_indptr.view()), fresh.kv_indptr)) return "kv_indptr";
    if (!starts_with(look(stream, buffers.last_page_len.view()), fresh.last_page_len))
      return "last_page_len";
    const auto indices = look(stream, buffers.kv_indices.view());
    const auto live = fresh.kv_indices.first(static_cast<std::size_t>(fresh.kv_indptr.back()));
    if (!starts_with(indices, live)) return "kv_indices";
    for (std::size_t i = live.size(); for_graph && i < indices.size(); ++i)
      if (indices[i] != -1) return "tail of kv_indices";
    if (fresh.shape.route == Route::split) return {};
    const auto plan = plan_step(plan_input_of(fresh, {}), buffers.sizes);
    if (!plan) return plan.error().message;
    if (!holds(look(stream, buffers.work_indptr.view()), plan->work_indptr)) return "work_indptr";
    if (!holds(look(stream, buffers.work_info.view()), plan->work_info)) return "work_info_set";
    if (!holds(look(stream, buffers.reduce_indptr.view()), plan->reduce_indptr))
      return "reduce_indptr";
    if (!holds(look(stream, buffers.reduce_final_map.view()), plan->reduce_final_map))
      return "reduce_final_map";
    if (!holds(look(stream, buffers.reduce_partial_map.view()), plan->reduce_partial_map))
      return "reduce_partial_map";
    return {};
  }

  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream{ledger};
  engine::DecodeStepBuilder builder;
  engine::StepBuffers buffers;
  device::DeviceBuffer<std::int32_t> seq_lens, table;
  std::deque<Captured> captured;         // one for each launch shape
  std::vector<std::int32_t> seen_lists;  // what the captured consumer read last
  std::vector<std::int32_t> seen_works;
  std::int64_t replays = 0;
};

void walk(std::int64_t steps) {
  constexpr std::int64_t kStepsOfAnEngine = 500;
  Walker walker(2026);
  std::int64_t done = 0;
  std::int64_t replays = 0;
  while (done < steps) {
    const Case settings = walker.settings();
    Engine engine(settings);
    auto buffers = engine.builder.allocate(engine.heap);
    if (!buffers) {  // no query length of these settings has a kernel
      REQUIRE(buffers.error().code == ErrorCode::unsupported);
      continue;
    }
    engine.buffers = std::move(*buffers);
    for (std::int64_t i = 0; i < kStepsOfAnEngine && done < steps; ++i, ++done) {
      const Case step = walker.step(settings);
      const std::string wrong = engine.walk(step, walker.below(2) == 0);
      if (!wrong.empty()) FAIL("step " << i << " of " << format_case(step) << ": " << wrong);
      engine.ledger.clear();
    }
    REQUIRE(engine.heap.faults().empty());
    replays += engine.replays;
  }
  CHECK(done == steps);
  CHECK(replays > steps / 20);
}

}  // namespace

TEST_CASE("random walk: used buffers hold what a fresh build writes", "[builder][P03]") {
  walk(20000);
}

TEST_CASE("random walk: a million steps leave no difference", "[.nightly][builder][P03]") {
  walk(1000000);
}
