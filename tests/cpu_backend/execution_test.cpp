// Claims about how a step is executed: order, masks, intermediate buffers, launcher.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/engine/row_map.hpp"
#include "core/numeric/bf16.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/catch.hpp"
#include "tests/cpu_backend/harness.hpp"

using namespace mla;
using namespace mla::cpu::test;

namespace {

constexpr float kNoKey = -std::numeric_limits<float>::infinity();

const char* const kExecutionLines[] = {
    "mla1:2q2s150_1q2s900;heads=16;arch=gfx942;cu=6",
    "mla1:3q3s130;heads=48;arch=gfx942;cu=5",
    "mla1:3q4s300;heads=128;arch=gfx950;cu=7;dtype=fp8/fp8",
    "mla1:3q1s400;heads=16;arch=gfx942;planner=none;cu=20",
};

void fill_key_with_nan(Step& step, std::int64_t request, std::int64_t position) {
  KvCache& cache = step.tensors.cache;
  const std::int64_t slot = step.batch.slot(request, position) - cache.first_slot;
  const std::uint8_t nan = cache.dtype == Dtype::bf16 ? 0xFF : 0x7F;
  std::memset(cache.bytes.data() + slot * cache.row_bytes(), nan,
              static_cast<std::size_t>(cache.row_bytes()));
}

bool same_row(const DecodeResult& a, const DecodeResult& b, std::int64_t row, std::int64_t heads) {
  const auto size = static_cast<std::size_t>(heads * kValueDim);
  const auto out = static_cast<std::size_t>(row) * size;
  const auto lse = static_cast<std::size_t>(row * heads);
  return std::memcmp(&a.out[out], &b.out[out], size * sizeof(std::uint16_t)) == 0 &&
         std::memcmp(&a.lse[lse], &b.lse[lse], static_cast<std::size_t>(heads) * sizeof(float)) ==
             0;
}

bool nan_row(const DecodeResult& result, std::int64_t row, std::int64_t heads) {
  return std::isnan(result.lse[static_cast<std::size_t>(row * heads)]);
}

}  // namespace

TEST_CASE("cpu backend: thread count and schedule change no bit of any buffer", "[cpu][P31]") {
  const auto backend = cpu::make_cpu_backend();
  for (const char* line : kExecutionLines) {
    const auto step = make_step(line);
    const DecodeResult expected =
        run(*backend, *step, {.schedule_seed = 0, .threads = 1, .record_stages = true});
    CHECK_FALSE(expected.stage1_out.empty());
    for (const std::uint64_t seed : {1, 2, 77})
      for (const int threads : {1, 2, 5}) {
        INFO(line << ", seed " << seed << ", " << threads << " threads");
        const ExecutionOptions options{
            .schedule_seed = seed, .threads = threads, .record_stages = true};
        CHECK(same_bits(expected, run(*backend, *step, options)));
      }
  }
}

TEST_CASE("cpu backend: a key that a row must not see has no influence, even as NaN",
          "[cpu][P13]") {
  for (const char* line : {kExecutionLines[0], kExecutionLines[1], kExecutionLines[2]}) {
    const auto step = make_step(line);
    const auto clean = run(*step);
    const std::int64_t heads = step->spec.heads;
    const auto [q, n] = step->batch.requests[0];
    fill_key_with_nan(*step, 0, n - 1);  // seen by the last row of request 0 alone
    const auto result = run(*step);
    INFO(line);
    for (std::int64_t row = 0; row < q - 1; ++row) CHECK(same_row(clean, result, row, heads));
    CHECK(nan_row(result, q - 1, heads));
    CHECK(same_row(clean, result, q, heads));  // request 1
  }
}

TEST_CASE("cpu backend: partial rows are normalised, with natural-log LSE, and merge to the output",
          "[cpu][P24]") {
  const auto step = make_step("mla1:1q1s900;heads=16;arch=gfx950;cu=5");
  const DecodeResult result = run(*step);
  const plan::Plan& plan = *step->metadata.plan;
  const std::int64_t pieces = plan.reduce_indptr.at(1);
  REQUIRE(pieces > 3);
  REQUIRE(result.partial_lse.size() >= static_cast<std::size_t>(pieces * 16));
  double sum = 0;
  double merged = 0;
  for (std::int64_t k = 0; k < pieces; ++k) {
    const std::int64_t row = plan.reduce_partial_map.at(k) * 16;
    const double weight =
        std::exp(static_cast<double>(result.partial_lse[static_cast<std::size_t>(row)]));
    sum += weight;
    merged += weight * result.partial_out[static_cast<std::size_t>(row * kValueDim)];
  }
  CHECK(result.lse[0] == Approx(std::log(sum)).epsilon(1e-5));
  CHECK(bf16_to_float(result.out[0]) == Approx(merged / sum).epsilon(0.005));
  // The split row is the merge's: stage 1 leaves its poison there.
  CHECK(result.stage1_out[0] == kPoisonBf16);
  CHECK(std::bit_cast<std::uint32_t>(result.stage1_lse[0]) == kPoisonF32);
}

TEST_CASE("cpu backend: the footprint of a split spans the entries from its first granule on",
          "[cpu]") {
  const auto step = make_step("mla1:2q1s900;planner=none;cu=4;page=16;block=16");
  const DecodeMetadata& md = step->metadata;
  const DecodeResult result = run(*step);
  REQUIRE(md.shape.kv_splits > 1);
  REQUIRE(std::ssize(result.footprint) == 2 * md.shape.kv_splits);
  for (const Footprint& f : result.footprint) {
    const auto request = static_cast<std::size_t>(f.work / md.shape.kv_splits);
    const std::int64_t split = f.work % md.shape.kv_splits;
    CHECK(f.kv_entries.begin ==
          md.kv_indptr[request] + split * md.shape.split_granularity / md.shape.page_size);
    CHECK(f.kv_entries.end == md.kv_indptr[request + 1]);
  }
}

TEST_CASE("cpu backend: the footprint names rows and entries of every work", "[cpu]") {
  const auto step = make_step(kExecutionLines[0]);
  const DecodeResult result = run(*step);
  const plan::Plan& plan = *step->metadata.plan;
  REQUIRE(static_cast<std::int64_t>(result.footprint.size()) == plan.works());
  for (const Footprint& f : result.footprint) {
    const plan::WorkItem item = plan.work(f.work);
    CHECK(f.q_rows.begin == item.q_begin);
    CHECK(f.q_rows.end == item.q_end);
    CHECK(f.kv_entries.begin == item.kv_begin);
    CHECK(f.kv_entries.end == item.kv_end);
    const RowRange written = item.partial_row < 0 ? f.output_rows : f.partial_rows;
    CHECK(written.begin == (item.partial_row < 0 ? item.q_begin : item.partial_row));
    CHECK(written.end - written.begin == item.q_end - item.q_begin);
    CHECK(plan.work_indptr.at(f.slot) <= f.work);
    CHECK(f.work < plan.work_indptr.at(f.slot + 1));
  }
  const auto backend = cpu::make_cpu_backend();
  const DecodeResult unrecorded = run(*backend, *step, {.record_stages = false});
  CHECK(unrecorded.footprint.empty());
  CHECK(unrecorded.partial_out.empty());
  CHECK(unrecorded.stage1_out.empty());
}

TEST_CASE("cpu backend: rows without keys get output 0 and LSE -inf from the launcher",
          "[cpu][P10]") {
  for (const char* line : {"mla1:2q1s60_2q1s0;heads=16;arch=gfx942;cu=4",
                           "mla1:2q1s60_2q1s0;heads=16;arch=gfx942;cu=4;planner=none"}) {
    const auto step = make_step(line);
    const DecodeResult result = run(*step);
    INFO(line << ": " << faults_text(result));
    CHECK(result.faults.empty());
    CHECK(result.lse[2 * 16] == kNoKey);
    CHECK(result.out[3 * 16 * kValueDim] == 0);
    CHECK(std::isfinite(result.lse[16]));
  }
}

TEST_CASE("cpu backend: a query row is folded and padded the same way forth and back",
          "[cpu][P14]") {
  for (const char* line :
       {"mla1:3q3s20;heads=48;arch=gfx942;cu=2", "mla1:3q2s20;heads=5;arch=gfx942;cu=2",
        "mla1:3q2s20;heads=4;arch=gfx942;cu=2", "mla1:2q4s20;heads=100;arch=gfx942;cu=2",
        "mla1:2q1s20;heads=128;arch=gfx950;cu=2"}) {
    const auto step = make_step(line);
    const auto map = RowMap::make(step->metadata);
    REQUIRE(map.ok());
    INFO(line);
    std::vector<bool> taken(static_cast<std::size_t>(map->kernel_rows() * map->row_heads()));
    for (std::int64_t row = 0; row < map->query_rows(); ++row)
      for (std::int64_t head = 0; head < step->spec.heads; ++head) {
        const auto place = map->place(row, head);
        CHECK(map->query_row(place.kernel_row) == row);
        CHECK(map->model_head(place.kernel_row, place.head) == head);
        const auto at = static_cast<std::size_t>(place.kernel_row * map->row_heads() + place.head);
        CHECK_FALSE(taken[at]);
        taken[at] = true;
      }
  }
}

TEST_CASE("split route: split z takes every S-th tile and the splits without one write nothing",
          "[cpu][P08]") {
  const auto step = make_step("mla1:1q1s100_1q1s3000;heads=16;arch=gfx942;planner=none;cu=80");
  const ResolvedShape& shape = step->metadata.shape;
  const std::int64_t splits = shape.kv_splits;
  REQUIRE(splits > 2);
  const DecodeResult result = run(*step);
  CHECK(result.faults.empty());
  const std::int64_t tiles = ceil_div(100, shape.split_granularity);
  for (std::int64_t z = 0; z < splits; ++z) {
    const float lse = result.partial_lse[static_cast<std::size_t>(z * 16)];
    INFO("split " << z << " of " << splits << ", " << tiles << " tiles");
    CHECK(std::isfinite(lse) == (z < tiles));
    if (z >= tiles) CHECK(std::bit_cast<std::uint32_t>(lse) == kPoisonF32);
  }
}

TEST_CASE("cpu backend: a data path that the machine lacks is not made", "[cpu]") {
  const std::vector<cpu::Isa> isas = cpu::available_isas();
  REQUIRE_FALSE(isas.empty());
  CHECK(isas.back() == cpu::Isa::portable);
  for (const cpu::Isa isa :
       {cpu::Isa::portable, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::avx512_bf16}) {
    const bool listed = std::find(isas.begin(), isas.end(), isa) != isas.end();
    CHECK((cpu::make_cpu_backend({.isa = isa}) != nullptr) == listed);
  }
}
