#include "cpu_backend/decode/stage_bounds.hpp"

#include <algorithm>
#include <cstring>

#include "core/engine/launch.hpp"
#include "cpu_backend/decode/executor.hpp"
#include "cpu_backend/decode/reference.hpp"

namespace mla::cpu {
namespace {

// One row of one task: a request of its own with the keys that the row sees.
struct Piece {
  std::int64_t kernel_row = 0;
  std::int64_t partial_row = -1;    // -1: the row of the output
  std::vector<std::int32_t> slots;  // of its keys, from the first backed one
};

std::vector<Piece> pieces_of(const DecodeLaunch& launch, const std::vector<Task>& tasks) {
  const KeyAddresses addresses{launch.metadata, CacheView::of(launch.tensors.cache)};
  std::vector<Piece> pieces;
  for (const Task& task : tasks) {
    for (std::int64_t row = task.q_begin; row < task.q_end; ++row) {
      Piece piece{row, task.direct() ? -1 : task.partial_row_of(row), {}};
      const std::int64_t limit = task.first_limit + (row - task.q_begin) * task.limit_step;
      for (std::int64_t p = task.keys.begin; p < std::min(task.keys.end, limit); ++p)
        if ((p - task.keys.begin) % task.keys.stride < task.keys.run)
          piece.slots.push_back(
              static_cast<std::int32_t>(addresses.slot(task, p) - launch.tensors.cache.first_slot));
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

// The pieces as a batch of one-row requests with tokens for blocks.
Batch batch_of(const std::vector<Piece>& pieces) {
  Batch batch;
  for (const Piece& piece : pieces) {
    batch.requests.push_back({1, std::ssize(piece.slots)});
    batch.columns = std::max(batch.columns, std::ssize(piece.slots));
  }
  batch.live = Requests(std::ssize(pieces));
  batch.block_table.assign(pieces.size() * static_cast<std::size_t>(batch.columns), 0);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    std::copy(pieces[i].slots.begin(), pieces[i].slots.end(),
              batch.block_table.begin() + static_cast<std::int64_t>(i) * batch.columns);
  return batch;
}

DecodeTensors tensors_of(const DecodeLaunch& launch, const RowMap& rows,
                         const std::vector<Piece>& pieces) {
  DecodeTensors t = launch.tensors;
  t.cache.first_slot = 0;
  const Dtype dtype = launch.metadata.shape.dtype.q;
  const std::vector<std::byte> packed = pack_q(rows, launch.tensors, dtype);
  const auto row_bytes =
      static_cast<std::size_t>(rows.row_heads() * kKeyDim * element_bytes(dtype));
  t.q.resize(pieces.size() * row_bytes);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    std::memcpy(&t.q[i * row_bytes],
                &packed[static_cast<std::size_t>(pieces[i].kernel_row) * row_bytes], row_bytes);
  return t;
}

}  // namespace

StageBounds stage_bounds(const DecodeLaunch& launch, std::int64_t partial_rows) {
  const ResolvedShape& shape = launch.metadata.shape;
  StageBounds bounds;
  const auto rows = RowMap::make(launch.metadata);
  if (!rows) return bounds;
  const std::vector<Piece> pieces = pieces_of(launch, stage1_tasks(launch, *rows).tasks);
  const Batch batch = batch_of(pieces);
  const DecodeTensors tensors = tensors_of(launch, *rows, pieces);
  const ReferenceResult reference = dense_reference({.batch = batch,
                                                     .tensors = tensors,
                                                     .arch = shape.arch,
                                                     .dtype = shape.dtype,
                                                     .model_heads = rows->row_heads(),
                                                     .causal = false});
  const std::int64_t heads = rows->row_heads();
  const auto pairs = [heads](std::int64_t n) { return static_cast<std::size_t>(n * heads); };
  bounds.partial_out.assign(pairs(partial_rows) * kValueDim, 0);
  bounds.partial_lse.assign(pairs(partial_rows), 0);
  bounds.stage1_out.assign(pairs(rows->kernel_rows()) * kValueDim, 0);
  bounds.stage1_lse.assign(pairs(rows->kernel_rows()), 0);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool direct = pieces[i].partial_row < 0;
    const std::int64_t row = direct ? pieces[i].kernel_row : pieces[i].partial_row;
    if (!direct && row >= partial_rows) continue;
    const std::int64_t from = static_cast<std::int64_t>(i) * heads;
    std::copy_n(
        reference.out_bound.begin() + from * kValueDim, heads * kValueDim,
        (direct ? bounds.stage1_out : bounds.partial_out).begin() + row * heads * kValueDim);
    std::copy_n(reference.lse_bound.begin() + from, heads,
                (direct ? bounds.stage1_lse : bounds.partial_lse).begin() + row * heads);
  }
  return bounds;
}

}  // namespace mla::cpu
