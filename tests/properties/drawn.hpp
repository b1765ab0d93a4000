// Drawn claims: a claim about random cases of the judge's generator, for what the judge cannot
// reach.
//
// A claim makes its further choices from the case alone (prop::Random), so that a case is all that
// a failure depends on. The first case that fails is made smaller, as the judge does, and printed
// with a line that runs it alone:
//   REPRO: MLA_DRAWN_CASE='mla1:1q1s1;...' .../test_c_abi_drawn "drawn calls: ..."
// MLA_DRAWN_SEED draws other cases.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/case/case.hpp"
#include "properties/generate/regimes.hpp"
#include "properties/step/verdict.hpp"

namespace mla::test {

struct DrawnClaim {
  std::string name;                   // of the test case
  std::vector<prop::Regime> regimes;  // take turns
  std::int64_t cases = 0;             // that the claim says something about
  std::function<prop::Outcome(const Case&)> holds;
  std::uint64_t seed = 1;
  std::string section = {};  // of the test case that holds this claim alone
};

struct Drawn {
  std::int64_t held = 0;
  std::int64_t skipped = 0;
  std::string failure;   // what is printed; empty: every case held
  std::string smallest;  // the line of the case that fails
};

// Ends at the first case that fails, or when no more cases are to be expected.
Drawn draw(const DrawnClaim& claim);

// Fails the test case unless as many cases held as were asked for.
void require_drawn(const DrawnClaim& claim);
// Fails the test case unless a case fails: the claim has a defect planted in it.
void require_noticed(const DrawnClaim& claim);

}  // namespace mla::test
