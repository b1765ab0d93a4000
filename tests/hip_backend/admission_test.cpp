// Claims about what may run: the HIP backend refuses the same works with the same words as the CPU
// backend, which reads the same plan with code of its own.
#include <algorithm>

#include "core/engine/row_map.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "hip_backend/admission/admit.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"

using namespace mla;
using namespace mla::hip::test;

namespace {

std::unique_ptr<Step> make(const char* line) {
  const auto spec = parse_case(line);
  REQUIRE(spec.ok());
  std::string reason;
  auto step = try_step(*spec, reason);
  INFO(reason);
  REQUIRE(step != nullptr);
  return step;
}

std::vector<std::string> sentences(const std::vector<Fault>& faults) {
  std::vector<std::string> list;
  for (const Fault& fault : faults) list.push_back(fault.what);
  std::sort(list.begin(), list.end());
  return list;
}

hip::Admission admit(const Step& step) {
  const auto rows = RowMap::make(step.metadata);
  REQUIRE(rows.ok());
  return hip::admit({.metadata = step.metadata,
                     .cache = step.tensors.cache,
                     .kernel_rows = rows->kernel_rows(),
                     .fold = rows->fold()});
}

// Both name the same faults and leave the same works out. Returns how many faults.
std::size_t check_same(const Step& step) {
  const auto cpu = cpu::make_cpu_backend()->run(step.launch(), {.record_stages = true});
  REQUIRE(cpu.ok());
  const hip::Admission admission = admit(step);
  CHECK(sentences(admission.faults) == sentences(cpu->faults));
  REQUIRE(admission.footprint.size() == cpu->footprint.size());
  for (std::size_t i = 0; i < cpu->footprint.size(); ++i) {
    CHECK(admission.footprint[i].work == cpu->footprint[i].work);
    CHECK(admission.footprint[i].kv_entries.end == cpu->footprint[i].kv_entries.end);
    CHECK(admission.footprint[i].partial_rows.end == cpu->footprint[i].partial_rows.end);
    CHECK(admission.footprint[i].output_rows.begin == cpu->footprint[i].output_rows.begin);
  }
  CHECK(admission.partial_rows * cpu->kernel_heads ==
        static_cast<std::int64_t>(cpu->partial_lse.size()));
  return admission.faults.size();
}

}  // namespace

TEST_CASE("admission: correct launches pass whole, on every route", "[hip][P06]") {
  for (const char* line :
       {"mla1:2q2s150_1q2s600;heads=16;arch=gfx942;cu=4", "mla1:2q4s257;heads=32;arch=gfx942;cu=5",
        "mla1:3q1s2000;heads=16;arch=gfx942;planner=none;cu=80",
        "mla1:3q1s500_2q1s0;heads=128;arch=gfx950;planner=none;cu=20",
        "mla1:3q2s450;heads=16;arch=gfx950;cu=12;block=16;page=16;gran=2"}) {
    INFO(line);
    const auto step = make(line);
    CHECK(check_same(*step) == 0);
  }
}

TEST_CASE("admission: a wrong work is refused in the words of the CPU backend", "[hip][P06]") {
  void (*const changes[])(plan::WorkItem&) = {
      [](plan::WorkItem& w) { w.batch = 99; },
      [](plan::WorkItem& w) { w.batch = -1; },
      [](plan::WorkItem& w) { w.q_begin = 0, w.q_end = 7; },
      [](plan::WorkItem& w) { w.partial_row = -2; },
      [](plan::WorkItem& w) { w.partial_row = 1 << 20; },
      [](plan::WorkItem& w) { w.kv_end = 1 << 20; },
      [](plan::WorkItem& w) { w.kv_begin = -4; },
      [](plan::WorkItem& w) { w.kv_end = w.kv_begin - 1; },
  };
  for (std::size_t n = 0; n < std::size(changes); ++n) {
    for (std::int64_t work = 0; work < 4; ++work) {
      INFO("change " << n << " of work " << work);
      const auto step = make("mla1:2q2s150_1q2s600;heads=16;arch=gfx942;cu=4");
      const plan::WorkItem original = step->metadata.plan->work(work);
      plan::WorkItem item = original;
      changes[n](item);
      step->metadata.plan->set_work(work, item);
      const bool changed = !(step->metadata.plan->work(work) == original);
      CHECK((check_same(*step) > 0) == changed);
    }
  }
}

// Admission guards memory. That such a plan is wrong is for plan_check to say.
TEST_CASE(
    "admission: a work with the rows of another request is let through, as on the CPU backend",
    "[hip][P06]") {
  const auto step = make("mla1:2q2s150_1q2s600;heads=16;arch=gfx942;cu=4");
  plan::WorkItem item = step->metadata.plan->work(3);
  REQUIRE(item.batch != 0);
  item.batch = 0, item.q_begin = 0, item.q_end = 2;
  step->metadata.plan->set_work(3, item);
  CHECK(check_same(*step) == 0);
}

TEST_CASE("admission: wrong slots and wrong merges are refused in the words of the CPU backend",
          "[hip][P06]") {
  void (*const changes[])(plan::Plan&) = {
      [](plan::Plan& p) { p.work_indptr.set(1, -3); },
      [](plan::Plan& p) { p.work_indptr.set(2, 1 << 20); },
      [](plan::Plan& p) { p.reduce_indptr.set(1, 1 << 20); },
      [](plan::Plan& p) { p.reduce_final_map.set(4, -1); },
      [](plan::Plan& p) { p.reduce_final_map.set(5, 1000); },
      [](plan::Plan& p) { p.reduce_partial_map.set(0, -1); },
      [](plan::Plan& p) { p.reduce_partial_map.set(1, 1 << 20); },
  };
  for (std::size_t n = 0; n < std::size(changes); ++n) {
    INFO("change " << n);
    const auto step = make("mla1:2q2s150_1q2s600;heads=16;arch=gfx942;cu=4");
    changes[n](*step->metadata.plan);
    CHECK(check_same(*step) > 0);
  }
}
