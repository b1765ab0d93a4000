// Claims about the account of launches.
#include "core/engine/launches.hpp"

#include "tests/catch.hpp"

using namespace mla;

TEST_CASE("launches: equal entries add up, whatever the order", "[core]") {
  Launches a;
  a.add({"hip", "gpu", StepKind::decode, "stage 1", 2});
  a.add({"hip", "gpu", StepKind::decode, "reduce"});
  Launches b;
  b.add({"hip", "gpu", StepKind::decode, "reduce"});
  b.add({"cpu", "host", StepKind::prefill, "gather", 3});
  Launches ab = a;
  ab.add(b);
  Launches ba = b;
  ba.add(a);
  CHECK(ab.lines() == ba.lines());
  CHECK(ab.lines() == std::vector<std::string>{"cpu on host: prefill 3 (gather 3)",
                                               "hip on gpu: decode 4 (reduce 2, stage 1 2)"});
}

TEST_CASE("launches: one device's kinds stand in one line, and nothing launched in none",
          "[core]") {
  Launches l;
  l.add({"hip", "gpu", StepKind::prefill, "flash attention", 1});
  l.add({"hip", "gpu", StepKind::decode, "stage 1", 1});
  l.add({"aiter", "gpu", StepKind::decode, "stage 1", 0});
  CHECK(l.lines() == std::vector<std::string>{
                         "hip on gpu: decode 1 (stage 1 1), prefill 1 (flash attention 1)"});
  CHECK(l.of("hip", "gpu", StepKind::decode) == 1);
  CHECK(l.of("aiter", "gpu", StepKind::decode) == 0);
  CHECK_FALSE(l.of("aiter", "gpu", StepKind::prefill).has_value());
  CHECK_FALSE(l.of("hip", "other", StepKind::decode).has_value());
}
