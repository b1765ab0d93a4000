// Claims about the prefill kernels one by one: faults instead of stray accesses, neutral empties,
// strides, and two forms of the matrix products that agree.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "core/engine/prefill/operands.hpp"
#include "core/numeric/bf16.hpp"
#include "core/plan/plan.hpp"
#include "cpu_backend/prefill/attend_blocks.hpp"
#include "cpu_backend/prefill/kernels.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::cpu;
using mla::plan::WorkItem;
using mla::prefill::kQkDim;
using mla::prefill::kVDim;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One request of four rows and one head, planned as a single work; bf16, so that no cast is needed.
struct SmallLaunch {
  std::vector<std::int32_t> qo_indptr{0, 4}, kv_indptr{0, 4}, kv_indices{0, 1, 2, 3};
  std::vector<std::int32_t> work_indptr{0, 1}, reduce_indptr{0, 0}, final_map{0, 0}, partial_map{0};
  WorkItem work{.q_end = 4, .kv_end = 4, .heads = 1 << 16};
  std::vector<std::uint16_t> q = std::vector<std::uint16_t>(4 * kQkDim, 0x3F80);
  std::vector<std::uint16_t> v = std::vector<std::uint16_t>(4 * kVDim, 0x3F80);
  std::vector<std::uint16_t> out = std::vector<std::uint16_t>(4 * kVDim, kPoisonBf16);
  std::vector<float> lse = std::vector<float>(4, 99);
  std::vector<float> partial_out = std::vector<float>(256 * kVDim, 99);
  std::vector<float> partial_lse = std::vector<float>(256, 99);
  std::vector<Fault> faults;
  Launches launches;

  void run() {
    std::vector<std::int32_t> words(plan::kWorkItemWords);
    std::memcpy(words.data(), &work, sizeof work);
    const PsLaunch launch{.plan = {{work_indptr, words, reduce_indptr, final_map, partial_map},
                                   qo_indptr,
                                   kv_indptr,
                                   kv_indices},
                          .q = prefill::bf16_operand(q, 1, kQkDim),
                          .k = prefill::bf16_operand(q, 1, kQkDim),
                          .v = prefill::bf16_operand(v, 1, kVDim),
                          .causal = true,
                          .score_scale = 0.1F};
    PsOutput output{.out = {out.data(), kVDim, kVDim},
                    .lse = {lse.data(), 1, 1},
                    .rows = 4,
                    .heads = 1,
                    .partial_out = partial_out.data(),
                    .partial_lse = partial_lse.data(),
                    .partial_rows = 256,
                    .owner = {}};
    run_prefill_ps(portable_path(), {Arch::gfx950, 1, 0, faults, launches}, launch, output);
  }
  [[nodiscard]] bool untouched() const {
    return std::all_of(out.begin(), out.end(), [](auto x) { return x == kPoisonBf16; }) &&
           std::all_of(partial_out.begin(), partial_out.end(), [](float x) { return x == 99; });
  }
};

}  // namespace

TEST_CASE("prefill kernel: equal values come back, and the LSE counts the keys that a row sees",
          "[cpu][prefill][P24]") {
  SmallLaunch small;
  small.run();
  CHECK(small.faults.empty());
  for (std::size_t row = 0; row < 4; ++row) {
    CHECK(small.out[row * kVDim] == 0x3F80);
    const double want = 19.2 + std::log(static_cast<double>(row + 1));
    CHECK(std::fabs(small.lse[row] - want) < 1e-5);
  }
}

TEST_CASE("prefill kernel: a record that leads outside is a fault and touches nothing",
          "[cpu][prefill][P05]") {
  struct Wrong {
    const char* word;
    void (*change)(SmallLaunch&);
  };
  const Wrong wrongs[] = {
      {"request 1", [](SmallLaunch& s) { s.work.batch = 1; }},
      {"request -1", [](SmallLaunch& s) { s.work.batch = -1; }},
      {"head 1", [](SmallLaunch& s) { s.work.heads = 2 << 16 | 1; }},
      {"rows [0, 5)", [](SmallLaunch& s) { s.work.q_end = 5; }},
      {"rows [3, 2)", [](SmallLaunch& s) { s.work.q_begin = 3, s.work.q_end = 2; }},
      {"keys [0, 5)", [](SmallLaunch& s) { s.work.kv_end = 5; }},
      {"keys [2, 1)", [](SmallLaunch& s) { s.work.kv_begin = 2, s.work.kv_end = 1; }},
      {"names key 4", [](SmallLaunch& s) { s.kv_indices[2] = 4; }},
      {"names key -1", [](SmallLaunch& s) { s.kv_indices[0] = -1; }},
      {"partial row 253", [](SmallLaunch& s) { s.work.partial_row = 253; }},
      {"partial row -2", [](SmallLaunch& s) { s.work.partial_row = -2; }},
      {"works [0, 2)", [](SmallLaunch& s) { s.work_indptr[1] = 2; }},
      {"works [1, 0)", [](SmallLaunch& s) { s.work_indptr = {1, 0}; }},
  };
  for (const Wrong& wrong : wrongs) {
    SmallLaunch small;
    wrong.change(small);
    small.run();
    INFO(wrong.word);
    REQUIRE(small.faults.size() == 1);
    INFO(small.faults[0].what);
    CHECK(small.faults[0].what.find(wrong.word) != std::string::npos);
    CHECK(small.untouched());
  }
}

TEST_CASE("prefill kernel: a row that two works write is a fault", "[cpu][prefill][P05]") {
  SmallLaunch small;
  std::vector<std::int32_t> twice(2 * plan::kWorkItemWords);
  for (std::size_t i = 0; i < 2; ++i)
    std::memcpy(&twice[i * plan::kWorkItemWords], &small.work, sizeof small.work);
  small.work_indptr = {0, 2};
  PsOutput output{.out = {small.out.data(), kVDim, kVDim},
                  .lse = {small.lse.data(), 1, 1},
                  .rows = 4,
                  .heads = 1,
                  .partial_out = nullptr,
                  .partial_lse = nullptr,
                  .partial_rows = 0,
                  .owner = {}};
  const Operand q = prefill::bf16_operand(small.q, 1, kQkDim);
  const PsLaunch launch{
      .plan = {{small.work_indptr, twice, small.reduce_indptr, small.final_map, small.partial_map},
               small.qo_indptr,
               small.kv_indptr,
               small.kv_indices},
      .q = q,
      .k = q,
      .v = prefill::bf16_operand(small.v, 1, kVDim),
      .causal = true,
      .score_scale = 1};
  run_prefill_ps(portable_path(), {Arch::gfx950, 1, 0, small.faults, small.launches}, launch,
                 output);
  REQUIRE(small.faults.size() == 1);
  CHECK(small.faults[0].what.find("already written by work 0") != std::string::npos);
}

TEST_CASE("flash attention: a request without keys has output 0 and LSE -inf",
          "[cpu][prefill][P25][BUG-099]") {
  const std::vector<std::uint16_t> q(3 * kQkDim, 0x3F80);
  const std::vector<std::uint16_t> v(2 * kVDim, 0x4000);
  std::vector<std::uint16_t> out(3 * kVDim, kPoisonBf16);
  std::vector<float> lse(3, 99);
  std::vector<Fault> faults;
  Launches launches;
  const std::vector<std::int32_t> rows{0, 1, 3};
  const std::vector<std::int32_t> keys{0, 0, 2};
  run_flash(portable_path(), {Arch::gfx942, 1, 0, faults, launches},
            {.q = prefill::bf16_operand(q, 1, kQkDim),
             .k = prefill::bf16_operand(std::span(q).first(2 * kQkDim), 1, kQkDim),
             .v = prefill::bf16_operand(v, 1, kVDim),
             .cu_seqlens_q = rows,
             .cu_seqlens_k = keys,
             .causal = false,
             .score_scale = 0.01F,
             .out = {out.data(), kVDim, kVDim},
             .lse = {lse.data(), 1, 3}});
  CHECK(faults.empty());
  CHECK(out[0] == 0);
  CHECK(lse[0] == -kInfinity);
  CHECK(out[kVDim] == 0x4000);
  CHECK(std::isfinite(lse[2]));
}

TEST_CASE("merge: a side without keys is neutral, two of them give 0 and -inf, NaN stays",
          "[cpu][prefill][P25][BUG-100]") {
  struct Side {
    float value;
    float lse;
  };
  const auto merged = [](Side a, Side b) {
    const auto row = [](Side s) {
      return std::vector<std::uint16_t>(static_cast<std::size_t>(kVDim),
                                        bf16_from_float(s.value, Bf16Rounding::nearest_even));
    };
    const auto left = row(a);
    const auto right = row(b);
    std::vector<std::uint16_t> out(static_cast<std::size_t>(kVDim), kPoisonBf16);
    float lse = 99;
    std::vector<Fault> faults;
    Launches launches;
    run_merge_states({Arch::gfx950, 1, 0, faults, launches},
                     {.prefix = {{left.data(), kVDim, kVDim}, {&a.lse, 1, 1}},
                      .suffix = {{right.data(), kVDim, kVDim}, {&b.lse, 1, 1}},
                      .out = {out.data(), kVDim, kVDim},
                      .lse = {&lse, 1, 1},
                      .rows = 1,
                      .heads = 1});
    return Side{bf16_to_float(out[0]), lse};
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(merged({nan, -kInfinity}, {3, 1}).value == 3);
  CHECK(merged({3, 1}, {nan, -kInfinity}).lse == 1);
  CHECK(merged({nan, -kInfinity}, {nan, -kInfinity}).value == 0);
  CHECK(merged({1, -kInfinity}, {1, -kInfinity}).lse == -kInfinity);
  CHECK(merged({1, 2}, {3, 2}).value == 2);
  CHECK(std::fabs(merged({1, 2}, {3, 2}).lse - (2 + std::log(2.0))) < 1e-6);
  CHECK(std::isnan(merged({1, kInfinity}, {3, 2}).value));
  CHECK(std::isnan(merged({1, nan}, {3, 2}).value));
}

TEST_CASE("gather: tokens come from their blocks, and a block outside the table is a fault",
          "[cpu][prefill][P25][BUG-111]") {
  prefill::ContextCache cache{.first_slot = 8, .slots = 8, .bits = {}};
  for (std::int64_t slot = 8; slot < 16; ++slot)
    cache.bits.insert(cache.bits.end(), static_cast<std::size_t>(kQkDim + kVDim),
                      static_cast<std::uint16_t>(slot));
  const std::int32_t blocks[] = {3, 2};  // of four tokens
  prefill::ContextChunk chunk;
  chunk.starts = {2};
  chunk.seq_lens = {4};
  chunk.cu_seq_lens = {0, 4};
  chunk.token_to_seq = {0, 0, 0, 0};
  std::vector<std::uint16_t> keys(4 * kQkDim);
  std::vector<std::uint16_t> values(4 * kVDim);
  std::vector<Fault> faults;
  Launches launches;
  const auto gather = [&](std::int64_t capacity) {
    run_gather({Arch::gfx950, 1, 0, faults, launches},
               {cache, chunk, {blocks, 1, 2, 2, 1}, 4, 1, capacity, keys.data(), values.data()});
  };
  gather(4);
  CHECK(faults.empty());
  for (std::size_t t = 0; t < 4; ++t)
    CHECK(values[t * kVDim] == std::vector<std::uint16_t>{14, 15, 8, 9}[t]);
  chunk.starts = {6};
  gather(4);
  CHECK(faults.size() == 2);
  gather(3);
  CHECK(faults.size() == 3);
}

TEST_CASE("prefill products: the portable form and the machine's best agree within roundings",
          "[cpu][prefill]") {
  std::mt19937 random(5);
  const auto draw = [&random](std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    for (float& x : values) x = static_cast<float>(random() % 2001) / 1000 - 1;
    return values;
  };
  const auto q = draw(kBlockRows * kQkDim);
  const auto keys = draw(kQkDim * kTileKeys);
  const auto values = draw(kTileKeys * kVDim);
  const auto p = draw(kBlockRows * kTileKeys);
  const std::int64_t seen[kBlockRows] = {3, 64, 0, 17};
  const float keep[kBlockRows] = {0.5F, 1, 0, 2};
  std::vector<float> scores[2], out[2];
  const RowBlocks* forms[2] = {&portable_row_blocks(), &row_blocks()};
  for (int i = 0; i < 2; ++i) {
    scores[i].resize(static_cast<std::size_t>(kBlockRows * kTileKeys));
    out[i].assign(static_cast<std::size_t>(kBlockRows * kVDim), 1);
    forms[i]->score(q.data(), keys.data(), scores[i].data());
    forms[i]->weigh(p.data(), seen, values.data(), keep, out[i].data());
  }
  for (std::size_t i = 0; i < scores[0].size(); ++i)
    CHECK(std::fabs(scores[0][i] - scores[1][i]) < 2e-5);
  for (std::size_t i = 0; i < out[0].size(); ++i) CHECK(std::fabs(out[0][i] - out[1][i]) < 1e-5);
  for (std::size_t d = 0; d < kVDim; ++d) CHECK(out[0][2 * kVDim + d] == 0);  // sees and keeps none
}
