// Piece: what a workgroup of stage 1 has to do, from a work item or from a split of a request.
//
// Rows are kernel rows; keys are tokens counted from the piece's first entry of kv_indices. Of the
// positions [begin, end) the first `run` of every `stride` belong to the piece: all of them on the
// persistent route, every splits-th tile on the split route. The host has checked every piece that
// it does not skip. Source: spec of the contract, docs/reference/numerics.md and
// docs/internals/architecture.md.
#pragma once

#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/gpu.hpp"

namespace mla::hip {

struct Piece {
  int q_begin;
  int q_end;
  int first_entry;
  int begin;
  int end;
  int run;
  int stride;
  int first_limit;  // row q_begin + t sees the positions below first_limit + t * limit_step
  int limit_step;
  int partial_row;  // of row q_begin; -1: writes the output
  int partial_stride;

  // Keys of the piece among the positions below `limit`.
  MLA_DEVICE_MEMBER int count_below(int limit) const {
    const int span = min_of(limit, end) - begin;
    if (span <= 0) return 0;
    return span / stride * run + min_of(span % stride, run);
  }
  MLA_DEVICE_MEMBER int visible(int t) const { return count_below(first_limit + t * limit_step); }
  // Position of key i of the piece.
  MLA_DEVICE_MEMBER int position(int i) const {
    if (run == stride) return begin + i;  // a division takes long
    return begin + i / run * stride + i % run;
  }
};

MLA_DEVICE Piece piece_of_work(const DecodeArguments& a, int work) {
  const int* info = global_at<int>(a.work_meta_data[1]) + 8 * static_cast<i64>(work);
  const int batch = info[0];
  const int offset = info[6];
  const int request = batch / a.fold;
  const int pages = max_of(info[5] - info[4], 0);
  // Only the last page of a request is not full, and offset 0 says that the work reaches it.
  const int missing = offset == 0 && pages > 0 ? (1 << a.page_shift) - a.last_page_len[request] : 0;
  const int keys = (pages << a.page_shift) - missing;
  const int row_end = a.fold > 1 ? (batch + 1) * a.uniform_qo_len : a.qo_indptr[batch + 1];
  Piece p;
  p.q_begin = info[2];
  p.q_end = info[3];
  p.first_entry = info[4];
  p.begin = 0;
  p.end = keys;
  p.run = max_of(keys, 1);
  p.stride = p.run;
  p.first_limit = a.masks != 0 ? keys + offset - (row_end - 1 - p.q_begin) : keys;
  p.limit_step = a.masks;
  p.partial_row = info[1];
  p.partial_stride = 1;
  return p;
}

MLA_DEVICE int request_keys(const int* kv_indptr, const int* last_page_len, int page_shift,
                            int request) {
  const int pages = kv_indptr[request + 1] - kv_indptr[request];
  return pages <= 0 ? 0 : ((pages - 1) << page_shift) + last_page_len[request];
}

MLA_DEVICE Piece piece_of_split(const DecodeArguments& a, int request, int split) {
  const int keys = request_keys(a.kv_indptr, a.last_page_len, a.page_shift, request);
  Piece p;
  p.q_begin = a.qo_indptr[request];
  p.q_end = a.qo_indptr[request + 1];
  p.first_entry = a.kv_indptr[request];
  p.begin = split * a.granularity;
  p.end = keys;
  p.run = a.granularity;
  p.stride = a.granularity * a.splits;
  p.first_limit = a.masks != 0 ? keys - (p.q_end - p.q_begin) + 1 : keys;
  p.limit_step = a.masks;
  p.partial_row = a.splits == 1 ? -1 : p.q_begin * a.splits + split;
  p.partial_stride = a.splits;
  return p;
}

}  // namespace mla::hip
