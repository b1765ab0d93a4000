#include <cstddef>

#define MLA_CHAINS portable_chains
#define MLA_CHAINS_BYTES 16
#include "tests/benchmarks/fma_chains-inl.hpp"
