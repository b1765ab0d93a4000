// Cooperative groups.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include "language.hpp"

namespace hip_language {
namespace {

namespace cg = cooperative_groups;

enum Group {
  block,
  tile,
  tile_votes,
  partition,
  any_group,
  coalesced,
  coalesced_shuffles,
  reduction,
  groups
};
const char* const names[] = {"thread_block",
                             "thread_block_tile",
                             "votes of a tile",
                             "partitions at run time",
                             "thread_group",
                             "coalesced_threads",
                             "shuffles of coalesced_threads",
                             "reduce"};
static_assert(sizeof names / sizeof *names == groups);

// The rank of the last thread, which it writes and all read.
__device__ unsigned last_of(cg::thread_group group, unsigned* place) {
  if (group.thread_rank() + 1 == group.size()) *place = group.thread_rank();
  group.sync();
  const unsigned last = *place;
  group.sync();
  return last;
}

__global__ void groups_kernel(unsigned* wrong) {
  const auto expect = [wrong](int group, bool right) {
    if (!right) atomicOr(&wrong[group], 1U);
  };
  const cg::thread_block whole = cg::this_thread_block();
  const unsigned self = threadIdx.x + 32 * threadIdx.y;  // blocks of 32 x 4
  __shared__ unsigned seen[128];
  seen[whole.thread_rank()] = self;
  whole.sync();
  expect(block, whole.size() == 128 && seen[127 - self] == 127 - self &&
                    whole.group_index().x == blockIdx.x);
  const auto of_16 = cg::tiled_partition<16>(whole);
  expect(tile, of_16.thread_rank() == self % 16 && of_16.size() == 16 &&
                   of_16.meta_group_rank() == self / 16 && of_16.meta_group_size() == 8);
  expect(tile, of_16.shfl(self, 3) == self / 16 * 16 + 3 &&
                   of_16.shfl_down(self, 1) == (self % 16 == 15 ? self : self + 1) &&
                   of_16.shfl_xor(self, 5) == (self ^ 5));
  const cg::thread_block_tile<16> same = of_16;  // the group it is a part of forgotten
  expect(tile, same.thread_rank() == of_16.thread_rank() && same.shfl(self, 0) == self / 16 * 16);
  const auto of_4 = cg::tiled_partition<4>(of_16);
  expect(tile_votes, of_4.ballot(self % 2 == 1) == 10 && of_16.any(self % 16 == 7) &&
                         !of_16.all(self % 16 < 8) &&
                         of_4.match_any(self % 4 < 3) == (self % 4 < 3 ? 7 : 8));
  const auto of_8 = cg::tiled_partition(whole, 8);
  expect(partition, of_8.size() == 8 && of_8.thread_rank() == self % 8 &&
                        of_8.shfl(self, 2) == self / 8 * 8 + 2);
  const auto thirds = cg::binary_partition(of_16, self % 4 == 0);
  expect(partition, thirds.size() == (self % 4 == 0 ? 4 : 12));
  expect(partition,
         thirds.thread_rank() == (self % 4 == 0 ? self % 16 / 4 : self % 16 - self % 16 / 4 - 1));
  __shared__ unsigned lasts[9];
  expect(any_group, last_of(whole, lasts) == 127 && last_of(of_16, lasts + 1 + self / 16) == 15 &&
                        thirds.any(true));
  expect(reduction, cg::reduce(of_16, self % 16, cg::plus<unsigned>()) == 120 &&
                        cg::reduce(of_16, self, cg::greater<unsigned>()) == self / 16 * 16 + 15);
  if (self % 3 == 1) {
    const cg::coalesced_group active = cg::coalesced_threads();
    const unsigned lane = self % 64, first = (1 + 2 * (self / 64 * 64 % 3)) % 3;
    const unsigned rank = active.thread_rank();
    expect(coalesced, active.size() == (first == 0 ? 22 : 21) && rank == (lane - first) / 3);
    expect(coalesced_shuffles, active.shfl(self, 0) == self - lane + first);
    expect(coalesced_shuffles,
           active.shfl_down(self, 2) == (rank + 2 < active.size() ? self + 6 : self));
    expect(coalesced_shuffles,
           active.ballot(rank < 3) == 7 && active.any(rank == 20) && active.all(self % 3 == 1));
  }
}

}  // namespace

std::vector<std::string> wrong_groups() {
  unsigned* wrong = nullptr;
  (void)hipMallocManaged(&wrong, groups * sizeof(unsigned));
  (void)hipMemset(wrong, 0, groups * sizeof(unsigned));
  groups_kernel<<<3, dim3(32, 4)>>>(wrong);
  std::vector<std::string> out;
  for (int k = 0; k < groups; ++k)
    if (wrong[k] != 0) out.push_back(names[k]);
  if (hipGetLastError() != hipSuccess) out.push_back("a launch failed");
  (void)hipFree(wrong);
  return out;
}

}  // namespace hip_language
