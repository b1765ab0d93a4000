// Claims about launches that no correct plan asks for: each is a fault that names what is wrong,
// the access never happens, and everything else runs on.
#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "core/engine/run_decode.hpp"
#include "core/engine/step_hooks.hpp"
#include "cpu_backend/decode/executor.hpp"
#include "cpu_backend/decode/reduce.hpp"
#include "cpu_backend/decode/work_list.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/catch.hpp"
#include "tests/cpu_backend/harness.hpp"

using namespace mla;
using namespace mla::cpu::test;
using cpu::AttendJob;
using cpu::best_path;
using cpu::DataPath;
using cpu::execute;

namespace {

// Three requests of two rows on four slots: works with and without splits.
std::unique_ptr<Step> small_step() {
  return make_step("mla1:2q2s150_1q2s600;heads=16;arch=gfx942;cu=4");
}

// Changes work `index` of the step's plan.
template <class F>
void change_work(Step& step, std::int64_t index, F change) {
  plan::WorkItem item = step.metadata.plan->work(index);
  change(item);
  step.metadata.plan->set_work(index, item);
}

bool names(const DecodeResult& result, const std::string& text) {
  return std::any_of(result.faults.begin(), result.faults.end(), [&](const Fault& fault) {
    return fault.what.find(text) != std::string::npos;
  });
}

std::int64_t first_direct_work(const Step& step) {
  for (std::int64_t w = 0; w < step.metadata.plan->works(); ++w)
    if (step.metadata.plan->work(w).partial_row == -1) return w;
  FAIL("every work is split");
  return -1;
}

bool poisoned_row(const DecodeResult& result, std::int64_t row, std::int64_t heads) {
  const auto begin = result.out.begin() + row * heads * kValueDim;
  return std::all_of(begin, begin + heads * kValueDim,
                     [](std::uint16_t bits) { return bits == kPoisonBf16; });
}

}  // namespace

TEST_CASE("faults: a query of other size is refused, raised rows or none", "[cpu][P33]") {
  for (const char* line : {"mla1:2q2s50;heads=16;cu=4", "mla1:2q2s50;heads=16;cu=4;qpad=4"}) {
    const auto step = make_step(line);
    const auto backend = cpu::make_cpu_backend();
    const auto with_rows = [&](std::size_t rows) {
      DecodeTensors tensors = step->tensors;
      tensors.q.resize(tensors.q.size() / 4 * rows);
      return run_decode(*backend, {step->metadata, tensors}, {}, StepHooks::none());
    };
    CHECK(with_rows(4).ok());
    for (const std::size_t rows : {std::size_t{3}, std::size_t{5}, std::size_t{0}}) {
      const auto result = with_rows(rows);
      REQUIRE_FALSE(result.ok());
      CHECK(result.error().code == ErrorCode::fault);
    }
  }
}

TEST_CASE("faults: raised rows are copied nowhere that qo_indptr does not reach", "[cpu]") {
  const auto step = make_step("mla1:2q2s50;heads=16;cu=4;qpad=4");
  const auto backend = cpu::make_cpu_backend();
  for (const std::int32_t end : {7, 4, 0, -1}) {
    const std::vector<std::int32_t> qo_indptr{0, 4, end};
    step->metadata.qo_indptr = qo_indptr;
    const auto result = run_decode(*backend, step->launch(), {}, StepHooks::none());
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::fault);
    CHECK(result.error().message.find("is row 7 of the launch") != std::string::npos);
  }
}

TEST_CASE("faults: a work outside its buffers is named and leaves its rows unwritten",
          "[cpu][P06]") {
  struct Violation {
    const char* expected;
    void (*change)(plan::WorkItem&);
  };
  const Violation violations[] = {
      {"request 99 is not in [0, 3)", [](plan::WorkItem& w) { w.batch = 99; }},
      {"request -1 is not in [0, 3)", [](plan::WorkItem& w) { w.batch = -1; }},
      {"query rows [0, 7) are not in [0, 6)",
       [](plan::WorkItem& w) { w.q_begin = 0, w.q_end = 7; }},
      {"query rows [2, 1) are not in", [](plan::WorkItem& w) { w.q_begin = 2, w.q_end = 1; }},
      {"are not in kv_indices [0, 900)", [](plan::WorkItem& w) { w.kv_end = 901; }},
      {"entries [-4,", [](plan::WorkItem& w) { w.kv_begin = -4; }},
      {"partial row -7 is neither", [](plan::WorkItem& w) { w.partial_row = -7; }},
      {"partial rows [99999, 100001)", [](plan::WorkItem& w) { w.partial_row = 99999; }},
  };
  for (const Violation& violation : violations) {
    const auto step = small_step();
    const std::int64_t work = first_direct_work(*step);
    const std::int64_t row = step->metadata.plan->work(work).q_begin;
    change_work(*step, work, violation.change);
    const DecodeResult result = run(*step);
    INFO(violation.expected << " in: " << faults_text(result));
    CHECK(names(result, violation.expected));
    CHECK(names(result, "work " + std::to_string(work) + " of slot "));
    CHECK(poisoned_row(result, row, 16));
    CHECK(result.faults.front().work == work);
  }
}

TEST_CASE("cpu backend: memory that runs out in a thread of stage 1 is the caller's to handle",
          "[cpu]") {
  DataPath path = best_path();
  path.attend = [](const AttendJob&, std::byte*) { throw std::bad_alloc(); };
  const auto step = small_step();
  for (const int threads : {1, 2}) {
    bool caught = false;
    try {
      (void)execute(path, step->launch(), {.threads = threads});
    } catch (const std::bad_alloc&) {
      caught = true;
    }
    CHECK(caught);
  }
}

TEST_CASE("faults: a page that leads outside the cache is named and never read", "[cpu][P17]") {
  for (const std::int32_t page : {-1, 2147483647, 100000}) {
    const auto step = small_step();
    step->buffers.kv_indices[5] = page;
    const DecodeResult result = run(*step);
    INFO(faults_text(result));
    CHECK(names(result, "entry 5 of kv_indices leads to cache slot " + std::to_string(page)));
    CHECK(poisoned_row(result, 0, 16));
    CHECK_FALSE(poisoned_row(result, 2, 16));
  }
}

TEST_CASE("faults: a work whose range is negative is named, and its rows count as keyless",
          "[cpu][P09]") {
  const auto step = small_step();
  const std::int64_t work = first_direct_work(*step);
  change_work(*step, work, [](plan::WorkItem& w) { w.kv_end = w.kv_begin - 3; });
  const DecodeResult result = run(*step);
  CHECK(names(result, "before they begin at"));
  const std::int64_t row = step->metadata.plan->work(work).q_begin;
  CHECK(result.lse[static_cast<std::size_t>(row * 16)] == -std::numeric_limits<float>::infinity());
  CHECK(result.out[static_cast<std::size_t>(row * 16 * kValueDim)] == 0);
}

TEST_CASE("cpu backend: an empty piece writes output 0 and LSE -inf, without a fault",
          "[cpu][P09]") {
  const auto step = small_step();
  const std::int64_t work = first_direct_work(*step);
  change_work(*step, work, [](plan::WorkItem& w) { w.kv_end = w.kv_begin; });
  const DecodeResult result = run(*step);
  INFO(faults_text(result));
  CHECK(result.faults.empty());
  const std::int64_t row = step->metadata.plan->work(work).q_begin;
  CHECK(result.lse[static_cast<std::size_t>(row * 16)] == -std::numeric_limits<float>::infinity());
  CHECK(result.out[static_cast<std::size_t>(row * 16 * kValueDim)] == 0);
}

TEST_CASE("faults: a row that two works write is named once for the later one", "[cpu][P05]") {
  const auto step = small_step();
  const std::int64_t last = step->metadata.plan->works() - 1;
  change_work(*step, last,
              [](plan::WorkItem& w) { w.partial_row = -1, w.q_begin = 0, w.q_end = 2; });
  const DecodeResult result = run(*step);
  INFO(faults_text(result));
  CHECK(names(result, "output row 0 is already written by work 0"));
  CHECK(names(result, "work " + std::to_string(last)));
}

TEST_CASE("faults: a split row that a work also writes directly is named by the reduce",
          "[cpu][P05]") {
  const auto step = small_step();
  std::int64_t split = -1;
  for (std::int64_t w = 0; w < step->metadata.plan->works(); ++w)
    if (step->metadata.plan->work(w).partial_row >= 0) split = w;
  REQUIRE(split >= 0);
  change_work(*step, split, [](plan::WorkItem& w) { w.partial_row = -1; });
  const DecodeResult result = run(*step);
  INFO(faults_text(result));
  CHECK(names(result, "is already written by work " + std::to_string(split)));
}

TEST_CASE("faults: slot bounds that fall or leave the work list are named", "[cpu][P04]") {
  for (const std::int32_t bound : {-5, 1000000}) {
    const auto step = small_step();
    step->metadata.plan->work_indptr.set(2, bound);
    const DecodeResult result = run(*step);
    INFO(faults_text(result));
    CHECK(names(result, "slot 1: its works ["));
    CHECK(names(result, std::to_string(bound)));
  }
}

TEST_CASE("faults: reduce maps that leave their buffers are named", "[cpu][P05]") {
  const auto tile_of_split = [](const Step& step) {
    for (std::int64_t i = 0; i + 1 < step.metadata.plan->reduce_indptr.size(); ++i)
      if (step.metadata.plan->reduce_indptr.at(i + 1) - step.metadata.plan->reduce_indptr.at(i) > 1)
        return i;
    FAIL("nothing is split");
    return std::int64_t{-1};
  };
  {
    const auto step = small_step();
    const std::int64_t tile = tile_of_split(*step);
    step->metadata.plan->reduce_final_map.set(2 * tile + 1, 77);
    CHECK(names(run(*step), "reduce tile " + std::to_string(tile) + ": query rows ["));
  }
  {
    const auto step = small_step();
    const std::int64_t tile = tile_of_split(*step);
    step->metadata.plan->reduce_partial_map.set(step->metadata.plan->reduce_indptr.at(tile), -2);
    CHECK(names(run(*step), "partial rows [-2, 0) are not in"));
  }
  {
    const auto step = small_step();
    step->metadata.plan->reduce_indptr.set(1, 9999);
    CHECK(names(run(*step), "reduce tile 0: its partials [0, 9999) are not in"));
  }
}

TEST_CASE("faults: a foreign address in work_meta_data is not followed", "[cpu][P33]") {
  const auto step = small_step();
  const plan::PlanView genuine = step->metadata.plan->view();
  const std::array<std::uint64_t, 2> swapped = {genuine.work_meta_data[1],
                                                genuine.work_meta_data[0]};
  const plan::PlanView view{swapped, genuine};
  const cpu::TaskList list = cpu::read_works(
      view, {.metadata = step->metadata, .cache = cpu::CacheView::of(step->tensors.cache)});
  CHECK(list.tasks.empty());
  REQUIRE(list.faults.size() == 2);
  CHECK(list.faults[0].what.find("is not the address of work_indptr") != std::string::npos);
  CHECK(list.faults[1].what.find("is not the address of work_info_set") != std::string::npos);
}

TEST_CASE("cpu backend: tensors that contradict the metadata are an error, not a run", "[cpu]") {
  const auto backend = cpu::make_cpu_backend();
  auto step = small_step();
  step->tensors.q.pop_back();
  CHECK_FALSE(backend->run(step->launch(), {}).ok());
  step = small_step();
  step->tensors.cache.slots += 1;
  CHECK_FALSE(backend->run(step->launch(), {}).ok());
  step = small_step();
  step->tensors.cache.dtype = Dtype::fp8;
  CHECK_FALSE(backend->run(step->launch(), {}).ok());
  step = small_step();
  step->metadata.plan.reset();
  CHECK_FALSE(backend->run(step->launch(), {}).ok());
}

TEST_CASE("cpu backend: refuses a fold of ragged queries and an fp8 query with a bf16 cache",
          "[cpu]") {
  const auto backend = cpu::make_cpu_backend();
  ResolvedShape shape = make_step("mla1:2q2s40;heads=32;arch=gfx942;cu=4")->metadata.shape;
  REQUIRE(shape.fold_ratio() == 2);
  CHECK(backend->supports(shape).ok);
  shape.uniform_qo_len = -1;
  CHECK_FALSE(backend->supports(shape).ok);
  shape.uniform_qo_len = 2;
  shape.dtype = {Dtype::fp8, Dtype::bf16};
  CHECK_FALSE(backend->supports(shape).ok);
}
