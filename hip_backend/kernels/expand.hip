// expand: the pages of kv_indices from a block table, for any block size and any strides.
//
// out[kv_indptr[r] + t] = block * E + t % E with block = table(r, t / E) and E pages in a block.
// Program y of request x takes every programs-th chunk; chunks after the last page do nothing.
#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/gpu.hpp"

MLA_KERNEL(256) expand(const mla::hip::ExpandArguments a) {
  using namespace mla::hip;
  const int begin = a.kv_indptr[group_x()];
  const int pages = a.kv_indptr[group_x() + 1] - begin;
  const int* row = a.table + a.table_row[group_x()] * a.row_stride;
  for (i64 first = static_cast<i64>(group_y()) * a.chunk; first < pages;
       first += static_cast<i64>(a.programs) * a.chunk) {
    const i64 end = first + a.chunk < pages ? first + a.chunk : pages;
    for (i64 t = first + thread_id(); t < end; t += 256) {
      const i64 block = row[t / a.pages_per_block * a.column_stride];
      a.kv_indices[begin + t] = static_cast<int>(block * a.pages_per_block + t % a.pages_per_block);
    }
  }
}
