// The canary: a property that fails for one case in a hundred, on purpose.
//
// A run that cannot see a failure looks like a run without one. The canary rides with every full
// run, and the run expects its failures (canary_entry() in ledger.hpp); asked for by name it fails
// like any other property: block, REPRO line and exit code 1. Fails: for cases whose line hashes to
// 0 modulo 100.
#pragma once

#include "properties/step/property.hpp"

namespace mla::prop {

const Property& canary();  // P00

// The simplest case that it fails for.
Case canary_case();

}  // namespace mla::prop
