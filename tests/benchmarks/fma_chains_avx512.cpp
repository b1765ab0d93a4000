#include <cstddef>

#define MLA_CHAINS avx512_chains
#define MLA_CHAINS_BYTES 64
#include "tests/benchmarks/fma_chains-inl.hpp"
