// What the build compiles to see whether a compiler knows an architecture: the tile layer alone.
#include "hip_backend/kernels/tile.hpp"

struct ProbeArguments {
  const char* from;
  float* to;
};

MLA_KERNEL(64) probe(const ProbeArguments a) {
  using namespace mla::hip;
  tile::Block block;
  const auto left = tile::load_fragment<Bf16>(a.from, 64, 0, 0);
  const auto right = tile::load_fragment<Fp8>(a.from, 32, 0, 0);
  tile::multiply_add(block, left, left);
  tile::multiply_add(block, right, right);
  a.to[thread_id()] = tile::element(block, 0);
}
