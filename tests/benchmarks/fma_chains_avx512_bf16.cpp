#include <cstddef>

#define MLA_CHAINS avx512_bf16_chains
#define MLA_CHAINS_BYTES 64
#ifdef __AVX512BF16__  // where the processor has it, the compiler is told so
#define MLA_CHAINS_BF16
#endif
#include "tests/benchmarks/fma_chains-inl.hpp"
