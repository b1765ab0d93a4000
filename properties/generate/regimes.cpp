#include "properties/generate/regimes.hpp"

#include <array>

#include "properties/generate/cost.hpp"

namespace mla::prop {
namespace {

constexpr std::array kRegimes = {Regime::boundary,
                                 Regime::tiles,
                                 Regime::sequence,
                                 Regime::wide,
                                 Regime::batch,
                                 Regime::large_batch,
                                 Regime::device,
                                 Regime::long_context,
                                 Regime::gate,
                                 Regime::raised,
                                 Regime::engine,
                                 Regime::wide_prefill,
                                 Regime::planned_prefill,
                                 Regime::wide_fa};

constexpr std::array kTurns = {Regime::wide,   Regime::batch,   Regime::wide_prefill, Regime::gate,
                               Regime::device, Regime::raised,  Regime::large_batch,  Regime::wide,
                               Regime::engine, Regime::wide_fa, Regime::long_context};

using Counts = Options<std::int64_t>;
using Ranges = Options<Range>;

void set_shape(CaseDomain& d, Counts requests, Counts qo_len, Ranges kv_ranges) {
  d.requests = std::move(requests);
  d.qo_len = std::move(qo_len);
  d.kv_ranges = std::move(kv_ranges);
}

// What engines run: no planner of the past, blocks of 1, 16 and 64 tokens.
CaseDomain production() {
  CaseDomain d = random_domain(100);
  d.max_kv_len = 131072;
  d.kind = {{StepKind::decode}};
  const DtypePair bf16{Dtype::bf16, Dtype::bf16};
  const DtypePair fp8{Dtype::fp8, Dtype::fp8};
  const DtypePair mixed{Dtype::bf16, Dtype::fp8};
  d.dtype = {{bf16, 3}, {fp8, 3}, {mixed, 2}};
  d.heads = {{8, 1}, {16, 2}, {32, 1}};
  d.page_size = {{1, 9}, {16, 1}, {64, 1}};
  d.block_size = {{1, 2}, {16, 2}, {64, 2}};
  d.compute_units = {{0, 4}, {80, 1}, {303, 1}};
  d.planner = {{PlannerChoice::automatic, 12}, {PlannerChoice::none, 1}};
  d.granularity = {{16, 6}, {64, 1}, {128, 1}};
  d.max_split = {{-1, 8}, {32, 1}, {64, 1}};
  d.later_steps = {{0}};
  d.pad_requests = {{0}};
  d.uniform = {{true, 3}, {false, 1}};
  d.budget = d.total_budget = std::int64_t{1} << 19;
  return d;
}

// What a kernel reads after the keys of its last tile comes from page 0: a request that owns that
// page, with keys that outscore the others by far, shows what becomes of it.
CaseDomain tiles() {
  using enum Distribution;
  CaseDomain d = production();
  d.budget = d.total_budget = std::int64_t{1} << 16;
  d.heads = {{16, 6}, {32, 2}, {128, 2}, {8, 1}, {12, 1}, {49, 1}, {64, 1}, {100, 1}};
  d.compute_units = {{4, 3}, {0, 1}, {80, 1}};
  d.granularity = {{16, 6}, {1, 2}};
  d.max_split = {{-1, 8}, {2, 1}, {7, 1}};
  d.layout = {{Layout::contiguous, 3},
              {Layout::shuffled, 2},
              {Layout::descending, 1},
              {Layout::interleaved, 1}};
  d.data = {{onehot, 3}, {large, 3}, {normal, 2}};
  d.origin = {{Origin::zero}};
  d.pad_requests = {{0, 3}, {1, 1}, {3, 1}};
  set_shape(
      d, {{1, 3}, {2, 3}, {3, 2}}, {{1, 3}, {2, 3}, {3, 1}, {4, 2}, {5, 1}, {8, 1}},
      {{{0, 3}, 1}, {{14, 21}, 2}, {{30, 37}, 2}, {{62, 69}, 3}, {{126, 133}, 2}, {{254, 261}, 1}});
  return d;
}

CaseDomain wide() {
  CaseDomain d = production();
  d.budget = d.total_budget = std::int64_t{1} << 18;
  d.heads = {{16, 1}, {64, 1}, {128, 5}};
  // A full device cuts few requests in pieces of a few keys: where there are as many works as
  // requests, a work is as long as it is under load.
  d.compute_units = {{0, 2}, {80, 1}, {1, 6}, {2, 3}, {4, 1}};
  set_shape(d, {{1, 4}, {2, 2}, {3, 1}},
            {{1, 1}, {2, 4}, {3, 4}, {4, 7}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {16, 1}},
            {{{129, 300}, 2}, {{257, 520}, 5}, {{600, 1100}, 1}});
  return d;
}

CaseDomain batch() {
  CaseDomain d = production();
  d.compute_units = {{0, 1}, {4, 2}, {8, 2}, {16, 1}};  // as in wide()
  set_shape(d, {{17, 3}, {24, 1}, {31, 1}, {40, 1}, {48, 1}}, {{1, 3}, {2, 1}, {3, 1}, {4, 3}},
            {{{200, 260}}});
  d.pad_requests = {{0, 2}, {1, 1}, {7, 1}};
  return d;
}

CaseDomain large_batch() {
  CaseDomain d = production();
  d.heads = {{8, 1}, {16, 3}};
  d.budget = d.total_budget = std::int64_t{1} << 18;
  set_shape(d, {{64, 2}, {100, 2}, {128, 1}, {200, 1}, {256, 1}, {257, 1}, {400, 1}, {512, 1}},
            {{1, 6}, {2, 1}, {4, 1}}, {{{0, 3}, 1}, {{4, 20}, 6}, {{21, 70}, 2}});
  d.pad_to_graph = true;
  return d;
}

CaseDomain long_context() {
  CaseDomain d = production();
  d.heads = {{8, 1}, {16, 1}};
  set_shape(d, {{1, 3}, {2, 1}}, {{1, 4}, {2, 1}}, {{{8192, 10000}, 4}, {{16384, 32768}, 1}});
  return d;
}

CaseDomain device() {
  CaseDomain d = production();
  d.compute_units = {{320, 1}, {400, 1}, {512, 2}, {608, 1}, {777, 1}, {1000, 1}, {1024, 2}};
  d.granularity = {{1, 2}, {2, 2}, {4, 2}, {16, 2}};
  d.budget = d.total_budget = std::int64_t{1} << 17;
  set_shape(d, {{1, 2}, {2, 1}, {4, 1}, {8, 1}}, {{1, 3}, {2, 1}, {4, 1}},
            {{{300, 1000}, 1}, {{1000, 3000}, 1}});
  return d;
}

CaseDomain gate() {
  CaseDomain d = production();
  d.arch = {{Arch::gfx950}};
  d.dtype = {{{Dtype::bf16, Dtype::bf16}, 8}, {{Dtype::fp8, Dtype::fp8}, 1}};
  d.heads = {{16, 5}, {8, 1}, {12, 1}};
  d.need_lse = {{false, 5}, {true, 1}};
  d.planner = {{PlannerChoice::automatic, 3}, {PlannerChoice::none, 1}};
  d.pad_requests = {{0, 4}, {1, 2}};
  d.budget = d.total_budget = std::int64_t{1} << 17;
  set_shape(d, {{31, 3}, {32, 3}, {33, 1}}, {{1}}, {{{1, 20}, 2}, {{30, 130}, 1}});
  return d;
}

CaseDomain raised() {
  CaseDomain d = random_domain(90);
  d.kind = {{StepKind::decode}};
  d.uniform = {{true}};
  d.qo_len = {{2, 3}, {3, 3}, {4, 1}, {5, 2}, {6, 2}, {7, 1}, {9, 1}, {12, 1}};
  // Most persistent kernels cut longer rows in tiles, where nothing is raised.
  d.planner = {{PlannerChoice::automatic, 1}, {PlannerChoice::none, 2}};
  d.heads = {{16, 1}, {32, 3}, {128, 3}};
  d.causal = {{true}};
  d.need_lse = {{false}};
  d.dtype = {{{Dtype::bf16, Dtype::bf16}, 6}, {{Dtype::fp8, Dtype::fp8}, 1}};
  d.kernel_rows = {};
  for (std::int64_t rows = 2; rows <= 32; ++rows)
    if (rows != 4 && rows != 8) d.kernel_rows.push_back({rows, rows < 8 || rows == 16 ? 4 : 1});
  return d;
}

// More than is executed (cost.hpp), and less than 2.5 million keys.
CaseDomain engine(int size) {
  CaseDomain d = production();
  d.heads = {{16, 2}, {32, 1}, {64, 1}, {128, 2}};
  d.pad_to_graph = true;
  d.budget = d.total_budget = 0;
  d.max_keys = 2'500'000;
  const Counts rows{{1, 3}, {2, 1}, {4, 1}};
  if (size % 3 == 0) set_shape(d, {{2048, 2}, {4096, 1}}, rows, {{{800, 1500}}});
  if (size % 3 == 1) set_shape(d, {{64, 1}, {256, 1}}, rows, {{{30000, 40000}}});
  if (size % 3 == 2) set_shape(d, {{20, 1}, {64, 1}}, rows, {{{100000, 131072}}});
  return d;
}

CaseDomain sequence(int size) {
  CaseDomain d = random_domain(size);
  d.kind = {{StepKind::decode, 8}, {StepKind::prefill, 1}, {StepKind::fa, 1}};
  d.later_steps = {{1, 3}, {2, 2}, {3, 1}};
  d.total_budget = d.budget + (std::int64_t{1} << 16);
  return d;
}

CaseDomain wide_prefill() {
  CaseDomain d = random_domain(100);
  d.kind = {{StepKind::prefill}};
  d.later_steps = {{0}};
  d.prefill_heads = {{32, 1}, {48, 1}, {64, 1}, {96, 1}, {128, 2}};
  d.budget = d.total_budget = std::int64_t{1} << 18;
  return d;
}

CaseDomain planned_prefill(int size) {
  CaseDomain d = random_domain(size);
  d.kind = {{StepKind::prefill}};
  d.causal = {{true}};
  d.prefill_arch = {{Arch::gfx950}};
  d.prefill_dtype = {{{Dtype::bf16, Dtype::fp8}}};
  d.prefill_planner = {{PlannerChoice::v12}};
  return d;
}

CaseDomain wide_fa() {
  CaseDomain d = random_domain(100);
  d.kind = {{StepKind::fa}};
  d.later_steps = {{0}};
  d.fa_heads = {{16, 1}, {24, 1}, {32, 2}, {48, 1}, {64, 2}};
  d.fa_context = 2048;
  d.window = {{1, 1}, {31, 1}, {64, 1}, {128, 1}, {255, 1}, {511, 1}, {1023, 1}, {4095, 1}};
  d.budget = d.total_budget = std::int64_t{1} << 17;
  return d;
}

}  // namespace

std::string_view name(Regime regime) {
  switch (regime) {
    case Regime::boundary:
      return "boundary";
    case Regime::tiles:
      return "tiles";
    case Regime::sequence:
      return "sequence";
    case Regime::wide:
      return "wide";
    case Regime::batch:
      return "batch";
    case Regime::large_batch:
      return "large batch";
    case Regime::long_context:
      return "long context";
    case Regime::device:
      return "device";
    case Regime::gate:
      return "gate";
    case Regime::raised:
      return "raised";
    case Regime::engine:
      return "engine";
    case Regime::wide_prefill:
      return "wide prefill";
    case Regime::planned_prefill:
      return "planned prefill";
    case Regime::wide_fa:
      return "wide FA";
  }
  return {};
}

std::span<const Regime> all_regimes() {
  return kRegimes;
}

// Of ten cases one sits at tiles, two are sequences and two of the other regimes.
Regime regime_of(std::int64_t number, bool production) {
  if (!production && number % 20 == 11) return Regime::planned_prefill;
  if (!production) return number % 4 == 3 ? Regime::tiles : Regime::boundary;
  const std::int64_t ten = number / 10;
  const std::int64_t digit = number % 10;
  if (digit == 2 || digit == 7) return Regime::sequence;
  if (digit == 4) return Regime::tiles;
  if (digit != 3 && digit != 6) return Regime::boundary;
  return kTurns[static_cast<std::size_t>(ten * 2 + digit / 3 - 1) % kTurns.size()];
}

CaseDomain regime_domain(Regime regime, int size) {
  switch (regime) {
    case Regime::boundary:
      break;
    case Regime::tiles:
      return tiles();
    case Regime::sequence:
      return sequence(size);
    case Regime::wide:
      return wide();
    case Regime::batch:
      return batch();
    case Regime::large_batch:
      return large_batch();
    case Regime::long_context:
      return long_context();
    case Regime::device:
      return device();
    case Regime::gate:
      return gate();
    case Regime::raised:
      return raised();
    case Regime::engine:
      return engine(size);
    case Regime::wide_prefill:
      return wide_prefill();
    case Regime::planned_prefill:
      return planned_prefill(size);
    case Regime::wide_fa:
      return wide_fa();
  }
  return random_domain(size);
}

}  // namespace mla::prop
