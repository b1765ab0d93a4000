// Claims about whole steps: the backend agrees with the dense reference within its bound.
#include "cpu_backend/decode/executor.hpp"
#include "tests/catch.hpp"
#include "tests/cpu_backend/harness.hpp"
#include "tests/cpu_backend/paths.hpp"

using namespace mla;
using namespace mla::cpu::test;

namespace {

// Every way through the backend: native and folded heads, padding, pages, several tiles, ragged
// batches, rows as requests, splits, kernels without a mask, all dtypes, both architectures.
const char* const kLines[] = {
    "mla1:3q1s100_1q1s700;heads=16;arch=gfx942;cu=8",
    "mla1:2q2s300;heads=16;arch=gfx942;cu=16;dtype=fp8/fp8",
    "mla1:2q4s257;heads=32;arch=gfx942;cu=5;dtype=bf16/fp8",
    "mla1:2q3s257;heads=48;arch=gfx942;cu=5",
    "mla1:1q1s1;heads=16;arch=gfx950;cu=4",
    "mla1:1q1s4k;heads=128;arch=gfx950;cu=16",
    "mla1:2q5s333_1q3s64;heads=16;arch=gfx950;cu=7",
    "mla1:1q3s900_1q3s40;heads=128;arch=gfx942;cu=9;dtype=fp8/fp8",
    "mla1:2q4s513;heads=128;arch=gfx950;cu=9;dtype=fp8/fp8",
    "mla1:2q4s513;heads=64;arch=gfx950;cu=9;dtype=bf16/bf16",
    "mla1:2q4s77;heads=5;arch=gfx950;cu=3",
    "mla1:2q2s77;heads=8;arch=gfx942;cu=3",
    "mla1:4q1s300;heads=12;arch=gfx942;cu=3;dtype=fp8/fp8",
    "mla1:2q1s1000_1q1s0;heads=16;arch=gfx942;cu=12;block=64;page=64;gran=1",
    "mla1:3q2s450;heads=16;arch=gfx950;cu=12;block=16;page=16;gran=2",
    "mla1:40q1s300;heads=16;arch=gfx950;cu=256",
    "mla1:3q1s2000;heads=16;arch=gfx942;planner=none;cu=80",
    "mla1:3q4s500;heads=16;arch=gfx942;planner=none;cu=80;dtype=fp8/fp8",
    "mla1:3q1s500_2q1s0;heads=128;arch=gfx950;planner=none;cu=20",
    "mla1:3q4s500;heads=32;arch=gfx950;causal=0;cu=10",
    "mla1:3q1s400;heads=16;arch=gfx942;planner=v11;cu=10",
    "mla1:2q1s3000;heads=16;arch=gfx942;planner=v10;cu=20",
    "mla1:2q1s300;heads=64;arch=gfx942;cu=20;dtype=fp8/fp8;scale=0.5/2",
    "mla1:3q6s120;heads=16;arch=gfx942;cu=10",
    "mla1:2q1s200;heads=16;arch=gfx942;cu=4;pad=3;spare=100.huge",
};

}  // namespace

TEST_CASE("cpu backend: every data path agrees with the dense reference on every route",
          "[cpu][P08][P12]") {
  for (const char* line : kLines) {
    const auto step = make_step(line);
    const cpu::ReferenceResult reference = step->reference();
    for (const cpu::DataPath* path : runnable_paths()) {
      const auto result = cpu::execute(*path, step->launch(), {.threads = 2});
      REQUIRE(result.ok());
      const Closeness c = closeness(*result, reference);
      INFO(line << " on " << path->label << ", route " << name(step->metadata.shape.route)
                << ": out " << c.out << ", lse " << c.lse
                << " of the bound; faults: " << faults_text(*result));
      CHECK(c.within());
      CHECK(result->faults.empty());
    }
  }
}
