// Claims about estimates: they follow from the case alone.
#include "properties/step/estimate.hpp"

#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

Estimate estimate(const char* line) {
  return estimate_of(case_of(line));
}

}  // namespace

TEST_CASE("estimate: the tensors of a decode are those of its rows, heads and keys", "[estimate]") {
  const Estimate e = estimate("mla1:2q3s100;heads=8;dtype=bf16/fp8");
  CHECK(e.query == 2 * 3 * 8 * 576 * 2);
  CHECK(e.cache == (2 * 100 + 1) * 576);
  CHECK(e.reference == 2 * 3 * 8 * 512 * 16);
  CHECK(e.work == 2 * 3 * 8 * 100 * 1088.0);
  CHECK(estimate("mla1:2q3s100;heads=8;block=64").cache == (2 * 128 + 64) * 576 * 2);
}

TEST_CASE("estimate: padding requests and the largest step count", "[estimate]") {
  CHECK(estimate("mla1:1q4s9;pad=3").query == 4 * estimate("mla1:1q4s9").query);
  CHECK(estimate("mla1:1q1s9+1q1s4k").cache == estimate("mla1:1q1s4k").cache);
  CHECK(estimate("mla1:1q1s4k+1q1s9").cache == estimate("mla1:1q1s4k").cache);
}

TEST_CASE("estimate: the largest line does not overflow", "[estimate]") {
  const Estimate e = estimate("mla1:65536q4096s4096k;heads=128;block=256");
  CHECK(e.lists > 1e10);
  CHECK(e.bytes() > 2 * e.lists);
}

TEST_CASE("estimate: where every row is a request, its keys are listed for every row",
          "[estimate]") {
  const double rows = estimate("mla1:8q1024s128k").lists;
  CHECK(rows > 4.0 * 8 * 1024 * 128 * 1024);
  CHECK(rows < 10.0 * 8 * 1024 * 128 * 1024);
  CHECK(estimate("mla1:8q4s128k").lists < 20.0 * 8 * 128 * 1024);
}

TEST_CASE("estimate: a step that is too large to be executed has lists only", "[estimate]") {
  const Estimate e = estimate("mla1:64q1s128k");
  CHECK(e.cache == 0);
  CHECK(e.work == 0);
  CHECK(e.lists > 64 * 128 * 1024 * 4);
}

TEST_CASE("estimate: without limits a large step has its tensors, once for some properties",
          "[estimate]") {
  const Estimate e = estimate_of(case_of("mla1:64q1s128k"), ExecutionLimits::none());
  CHECK(e.cache == (64.0 * 128 * 1024 + 1) * 576 * 2);
  CHECK(e.bytes(Held::own) > e.cache);
  CHECK(e.bytes(Held::own) < 1.1 * e.cache);
  CHECK(e.bytes(Held::more) > 3 * e.cache);
}

TEST_CASE("estimate: sizes are printed in units that a reader knows", "[estimate]") {
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(20.0 * (1 << 20)) == "20 MiB");
  CHECK(bytes_text(1000.0 * (1 << 20)) == "1.0 GiB");
  CHECK(bytes_text(1e30).ends_with("EiB"));
}
