// AITER's mla_reduce_v1 on the CPU: the merge of partial rows, whoever made them.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <string>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "cpu_backend/merge.hpp"
#include "properties/parallel.hpp"
#include "properties/python/abi/aiter/machine.hpp"
#include "properties/python/abi/aiter/mla_testbed_aiter.h"
#include "properties/python/abi/border.hpp"
#include "properties/python/abi/tensors.hpp"

namespace mla::abi::aiter {
namespace {

using MaybeFailure = std::optional<Failure>;

// Heads for which AITER compiles the kernel, by the width of a value. Anything else aborts there.
struct Instances {
  std::int64_t value_dim;
  std::vector<std::int64_t> heads;
};
const std::array<Instances, 3>& instances() {
  static const std::array<Instances, 3> table = {{
      {64, {64}},
      {128, {1, 2, 4, 8, 10, 16, 32, 40, 48, 64, 96, 128}},
      {512, {8, 16, 24, 32, 48, 64, 80, 96, 112, 128}},
  }};
  return table;
}

MaybeFailure check_instance(std::int64_t heads, std::int64_t value_dim) {
  for (const Instances& i : instances())
    if (i.value_dim == value_dim && std::count(i.heads.begin(), i.heads.end(), heads) > 0)
      return std::nullopt;
  return Failure{MLA_UNSUPPORTED,
                 "mla_reduce_v1 has no kernel for " + std::to_string(heads) + " heads of " +
                     std::to_string(value_dim) + " values",
                 "", ""};
}

struct ReduceCall {
  const aiter_tensor_t *partial_output, *partial_lse, *indptr, *final_map, *partial_map;
  std::int64_t max_seqlen_q, num_kv_splits;
  const aiter_tensor_t *output, *lse;
};

// One tile: rows [q_begin, q_end) of the output, and the first partial row of each piece.
struct Tile {
  std::int64_t q_begin = 0;
  std::int64_t q_end = 0;
  std::span<const std::int32_t> pieces;
};

struct Reduction {
  Arch arch = Arch::gfx942;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  std::int64_t partial_rows = 0;
  std::int64_t rows = 0;
  const float* out = nullptr;
  const float* lse = nullptr;
  std::uint16_t* to = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = 0;
  bool fp16 = false;
  float* to_lse = nullptr;
  std::vector<Tile> tiles;
};

std::uint16_t fp16_from_float(float value) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

MaybeFailure check_operands(const ReduceCall& c, Reduction& r) {
  if (auto bad =
          check_tensor(c.partial_output, {.name = "partial_output", .dtypes = {MLA_DTYPE_FP32}}))
    return bad;
  const int dims = c.partial_output->ndim;
  if (dims < 3) return bad_tensor("partial_output", "3 dimensions or more", std::to_string(dims));
  r.heads = c.partial_output->shape[dims - 2];
  r.dim = c.partial_output->shape[dims - 1];
  if (auto bad = check_instance(r.heads, r.dim)) return bad;
  r.partial_rows = static_cast<std::int64_t>(c.partial_output->numel) / (r.heads * r.dim);
  if (auto bad = check_tensor(c.partial_lse, {.name = "partial_lse", .dtypes = {MLA_DTYPE_FP32}}))
    return bad;
  if (static_cast<std::int64_t>(c.partial_lse->numel) != r.partial_rows * r.heads)
    return bad_tensor("partial_lse", std::to_string(r.partial_rows * r.heads) + " elements",
                      std::to_string(c.partial_lse->numel));
  if (auto bad = check_tensor(c.output, {.name = "final_output",
                                         .dtypes = {MLA_DTYPE_BF16, MLA_DTYPE_FP16},
                                         .shape = {kAny, r.heads, r.dim},
                                         .contiguous = false}))
    return bad;
  if (c.output->strides[2] != 1)
    return bad_tensor("final_output", "a stride of 1 in the last dimension", "another");
  r.rows = c.output->shape[0];
  r.row_stride = c.output->strides[0];
  r.head_stride = c.output->strides[1];
  r.fp16 = c.output->dtype == MLA_DTYPE_FP16;
  r.out = static_cast<const float*>(c.partial_output->ptr);
  r.lse = static_cast<const float*>(c.partial_lse->ptr);
  r.to = static_cast<std::uint16_t*>(c.output->ptr);
  if (c.lse == nullptr) return std::nullopt;
  if (auto bad = check_tensor(
          c.lse, {.name = "final_lse", .dtypes = {MLA_DTYPE_FP32}, .shape = {r.rows, r.heads}}))
    return bad;
  r.to_lse = static_cast<float*>(c.lse->ptr);
  return std::nullopt;
}

std::string interval(std::int64_t begin, std::int64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

// Rows of tile `index` in the output; without a map the tiles have equal lengths.
void set_rows(const ReduceCall& c, std::int64_t index, Tile& tile) {
  if (c.final_map != nullptr) {
    const auto* map = static_cast<const std::int32_t*>(c.final_map->ptr);
    tile.q_begin = map[2 * index];
    tile.q_end = map[2 * index + 1];
    return;
  }
  const std::int64_t length = std::int64_t{tile.pieces[1]} - tile.pieces[0];
  tile.q_begin = index * length;
  tile.q_end = (index + 1) * length;
}

std::string check_tile(const Reduction& r, const Tile& tile, std::int64_t most) {
  if (std::ssize(tile.pieces) > most)
    return std::to_string(tile.pieces.size()) + " pieces, and the kernel has room for " +
           std::to_string(most) + " (compute units or num_kv_splits)";
  if (tile.q_begin < 0 || tile.q_end < tile.q_begin || tile.q_end > r.rows)
    return "output rows " + interval(tile.q_begin, tile.q_end) + " are not in " +
           interval(0, r.rows);
  for (const std::int32_t piece : tile.pieces) {
    const std::int64_t end = piece + tile.q_end - tile.q_begin;
    if (piece < 0 || end > r.partial_rows)
      return "partial rows " + interval(piece, end) + " are not in " + interval(0, r.partial_rows);
  }
  return {};
}

MaybeFailure read_tiles(const ReduceCall& c, std::int64_t most, Reduction& r) {
  if (auto bad = check_tensor(
          c.indptr, {.name = "reduce_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}))
    return bad;
  if (auto bad =
          check_tensor(c.partial_map,
                       {.name = "reduce_partial_map", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}))
    return bad;
  const auto indptr = elements<const std::int32_t>(*c.indptr);
  const auto map = elements<const std::int32_t>(*c.partial_map);
  const std::int64_t tiles = std::max<std::int64_t>(std::ssize(indptr) - 1, 0);
  if (c.final_map != nullptr)
    if (auto bad = check_tensor(
            c.final_map,
            {.name = "reduce_final_map", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny, 2}}))
      return bad;
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t begin = indptr[static_cast<std::size_t>(i)];
    const std::int64_t end = indptr[static_cast<std::size_t>(i + 1)];
    const std::string who = "reduce tile " + std::to_string(i) + ": ";
    if (begin < 0 || end < begin || end > std::ssize(map))
      return Failure{MLA_FAULT,
                     who + "its pieces " + interval(begin, end) + " are not in " +
                         interval(0, std::ssize(map)),
                     "", ""};
    if (end - begin < 2) continue;  // nothing is merged, and nothing is written
    if (c.final_map != nullptr && i >= c.final_map->shape[0])
      return Failure{
          MLA_FAULT,
          who + "reduce_final_map has only " + std::to_string(c.final_map->shape[0]) + " rows", "",
          ""};
    Tile tile;
    tile.pieces =
        map.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    set_rows(c, i, tile);
    if (std::string bad = check_tile(r, tile, most); !bad.empty())
      return Failure{MLA_FAULT, who + bad, "", ""};
    r.tiles.push_back(tile);
  }
  return std::nullopt;
}

void merge_tile(const Reduction& r, const Tile& tile, std::vector<float>& merged) {
  const Bf16Rounding rounding = reduce_rounding(r.arch);
  const auto form = tile.pieces.size() < 4 ? cpu::MergeForm::running : cpu::MergeForm::weighted;
  std::vector<const float*> parts(tile.pieces.size());
  std::vector<float> lse(tile.pieces.size());
  for (std::int64_t row = tile.q_begin; row < tile.q_end; ++row)
    for (std::int64_t head = 0; head < r.heads; ++head) {
      for (std::size_t k = 0; k < tile.pieces.size(); ++k) {
        const std::int64_t at = (tile.pieces[k] + row - tile.q_begin) * r.heads + head;
        parts[k] = r.out + at * r.dim;
        lse[k] = r.lse[at];
      }
      const float total = cpu::merge_partials(form, parts, lse, merged);
      if (r.to_lse != nullptr) r.to_lse[row * r.heads + head] = total;
      std::uint16_t* to = r.to + row * r.row_stride + head * r.head_stride;
      for (std::int64_t d = 0; d < r.dim; ++d)
        to[d] = r.fp16 ? fp16_from_float(merged[static_cast<std::size_t>(d)])
                       : bf16_from_float(merged[static_cast<std::size_t>(d)], rounding);
    }
}

MaybeFailure reduce(const ReduceCall& call) {
  auto machine = this_machine();
  if (!machine) return failure_of(machine.error());
  Reduction r;
  r.arch = machine->arch;
  if (auto bad = check_operands(call, r)) return bad;
  const std::int64_t most = std::max(machine->compute_units, call.num_kv_splits);
  if (auto bad = read_tiles(call, most, r)) return bad;
  std::atomic<std::size_t> next = 0;
  const int workers = r.tiles.size() < 4 ? 1 : prop::worker_count(0);
  prop::on_workers(workers, [&] {
    std::vector<float> merged(static_cast<std::size_t>(r.dim));
    for (std::size_t i = next++; i < r.tiles.size(); i = next++) merge_tile(r, r.tiles[i], merged);
  });
  return std::nullopt;
}

}  // namespace
}  // namespace mla::abi::aiter

extern "C" int mla_aiter_reduce_v1(const aiter_tensor_t* partial_output,
                                   const aiter_tensor_t* partial_lse,
                                   const aiter_tensor_t* reduce_indptr,
                                   const aiter_tensor_t* reduce_final_map,
                                   const aiter_tensor_t* reduce_partial_map, int64_t max_seqlen_q,
                                   int64_t num_kv_splits, const aiter_tensor_t* final_output,
                                   const aiter_tensor_t* final_lse) {
  return mla::abi::at_border([&] {
    return mla::abi::aiter::reduce({partial_output, partial_lse, reduce_indptr, reduce_final_map,
                                    reduce_partial_map, max_seqlen_q, num_kv_splits, final_output,
                                    final_lse});
  });
}
