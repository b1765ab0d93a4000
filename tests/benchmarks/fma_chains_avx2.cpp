#include <cstddef>

#define MLA_CHAINS avx2_chains
#define MLA_CHAINS_BYTES 32
#include "tests/benchmarks/fma_chains-inl.hpp"
