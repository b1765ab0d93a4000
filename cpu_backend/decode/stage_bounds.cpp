#include "cpu_backend/decode/stage_bounds.hpp"

#include <algorithm>
#include <span>
#include <vector>

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
Batch batch_of(std::span<const Piece> pieces) {
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

// Their rows of a kernel's Q.
std::vector<std::byte> rows_of(std::span<const Piece> pieces, const std::vector<std::byte>& packed,
                               std::int64_t row_bytes) {
  std::vector<std::byte> q;
  for (const Piece& piece : pieces) {
    const auto row = packed.begin() + piece.kernel_row * row_bytes;
    q.insert(q.end(), row, row + row_bytes);
  }
  return q;
}

}  // namespace

void for_stage_bounds(const DecodeLaunch& launch,
                      const std::function<void(const RowBounds& bounds)>& look) {
  constexpr std::int64_t kElements = 1 << 17;  // of one evaluation: what stays in a cache
  const ResolvedShape& shape = launch.metadata.shape;
  const auto rows = RowMap::make(launch.metadata);
  if (!rows) return;
  const std::vector<Piece> pieces = pieces_of(launch, stage1_tasks(launch, *rows).tasks);
  const std::vector<std::byte> packed = pack_q(*rows, launch.tensors, shape.dtype.q);
  const std::int64_t heads = rows->row_heads();
  const std::int64_t value = shape.widths.value().count();
  const auto at_once =
      static_cast<std::size_t>(std::max<std::int64_t>(1, kElements / (heads * value)));
  for (std::size_t first = 0; first < pieces.size(); first += at_once) {
    const auto some = std::span(pieces).subspan(first, std::min(at_once, pieces.size() - first));
    const Batch batch = batch_of(some);
    const std::vector<std::byte> q =
        rows_of(some, packed, heads * shape.widths.key_bytes(shape.dtype.q));
    const ReferenceResult reference =
        dense_reference({.batch = batch,
                         .tensors = launch.tensors,
                         .q = q,
                         .first_slot = launch.tensors.cache.first_slot,
                         .arch = shape.arch,
                         .dtype = shape.dtype,
                         .model_heads = heads,
                         .causal = false});
    const auto pairs = static_cast<std::size_t>(heads);
    const std::size_t elements = pairs * static_cast<std::size_t>(value);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const Piece& piece = some[i];
      const bool partial = piece.partial_row >= 0;
      look({.partial = partial,
            .row = partial ? piece.partial_row : piece.kernel_row,
            .out = std::span(reference.out_bound).subspan(i * elements, elements),
            .lse = std::span(reference.lse_bound).subspan(i * pairs, pairs)});
    }
  }
}

}  // namespace mla::cpu
