#include "hip_backend/aiter/stage1_launch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "core/shape/split_count.hpp"
#include "hip_backend/aiter/kernarg_range.hpp"
#include "hip_backend/aiter/launches.hpp"

namespace mla::hip::aiter {
namespace {

class Preparation {
 public:
  Preparation(const Stage1Input& input, const Selection& selection, const AiterOptions& options)
      : input_(input), selection_(selection), options_(options) {
    launch_.owned.reserve(16);
  }

  Result<Stage1Launch> make() {
    if (MaybeError bad = common_arguments()) return *bad;
    const bool works = input_.launch.metadata.shape.route != Route::split;
    if (MaybeError bad = works ? with_works() : with_splits()) return *bad;
    return std::move(launch_);
  }

 private:
  template <class Values>
  MaybeError bring(const char* name, const Values& values, Address& to) {
    return keep(input_.device, name, values, launch_.owned, to);
  }
  MaybeError bring_works(const WorkList& works, Address& to) {
    std::array<Address, 2> meta{};
    if (MaybeError bad = bring("works of slots", works.indptr, meta[0])) return bad;
    if (MaybeError bad = bring("works", works.items, meta[1])) return bad;
    return bring("addresses of works", meta, to);
  }
  // For so many partial rows, and what writes them.
  Result<Scratch> scratch(std::int64_t rows, DecodeKernargs& arguments) {
    const std::int64_t heads = input_.rows.row_heads();
    auto out = Buffer::filled(input_.device, "scratch partial outputs",
                              rows * heads * kBuiltIn.value().count() * 4, kPoisonF32);
    if (!out) return out.error();
    auto lse = Buffer::filled(input_.device, "scratch partial LSE", rows * heads * 4, kPoisonF32);
    if (!lse) return lse.error();
    arguments.partial_out = out->address();
    arguments.partial_lse = lse->address();
    return Scratch{std::move(*out), std::move(*lse)};
  }

  MaybeError common_arguments();
  MaybeError with_works();
  MaybeError with_splits();
  MaybeError ask_again_for_works(const WorkList& works);

  const Stage1Input& input_;
  const Selection& selection_;
  const AiterOptions& options_;
  Stage1Launch launch_;
  DecodeKernargs& arguments_ = launch_.run.arguments;
};

MaybeError Preparation::common_arguments() {
  Address q_scale = 0;
  Address kv_scale = 0;
  const DecodeTensors& t = input_.launch.tensors;
  if (MaybeError bad = bring("q_scale", std::span(&t.q_scale, 1), q_scale)) return bad;
  if (MaybeError bad = bring("kv_scale", std::span(&t.kv_scale, 1), kv_scale)) return bad;
  const ResolvedShape& shape = input_.launch.metadata.shape;
  if (MaybeError bad = fits_kernarg(
          "the bytes of a request in Q, of its rows times those of a row,", shape.max_qo_len,
          input_.rows.row_heads() * shape.widths.key_bytes(shape.dtype.q)))
    return bad;
  if (MaybeError bad = fits_kernarg("the bytes of a page, of its tokens times those of a token,",
                                    shape.page_size, t.cache.row_bytes()))
    return bad;
  launch_.run = {common_kernargs(selection_, input_, q_scale, kv_scale),
                 grid_of(selection_, input_)};
  if (!options_.global_kv_indptr.empty()) {
    Address global = 0;
    if (MaybeError bad = bring("global kv_indptr", options_.global_kv_indptr, global)) return bad;
    arguments_.global_kv_indptr = global;
    arguments_.ranks = options_.ranks;
    arguments_.rank = options_.rank;
  }
  if (options_.packed_cache.empty()) return std::nullopt;
  Address packed = 0;
  if (MaybeError bad = bring("the packed cache", options_.packed_cache, packed)) return bad;
  arguments_.kv = packed;
  arguments_.page_stride =
      static_cast<std::uint32_t>(input_.launch.metadata.shape.page_size * kPackedTokenBytes);
  return std::nullopt;
}

MaybeError Preparation::with_works() {
  const DecodeArguments& buffers = input_.buffers;
  arguments_.partial_out = address_of(buffers.partial_out);
  arguments_.partial_lse = address_of(buffers.partial_lse);
  arguments_.out = address_of(buffers.out);
  if (selection_.row.key.lse) arguments_.lse = address_of(buffers.lse);
  if (input_.admission.as_planned) {
    arguments_.work = address_of(buffers.work_meta_data);
    return std::nullopt;
  }
  const WorkList works = admitted_works(input_);
  Address list = 0;
  if (MaybeError bad = bring_works(works, list)) return bad;
  arguments_.work = list;
  return selection_.row.key.lse ? std::nullopt : ask_again_for_works(works);
}

MaybeError Preparation::ask_again_for_works(const WorkList& works) {
  const WorkList again = direct_works_as_partials(works);
  if (again.items.empty()) return std::nullopt;
  KernelRun second = launch_.run;
  Address list = 0;
  if (MaybeError bad = bring_works(again, list)) return bad;
  second.arguments.work = list;
  auto partials = scratch(again.partial_rows, second.arguments);
  if (!partials) return partials.error();
  LseInScratch lse = {.scratch = std::move(*partials), .rows = {}};
  for (const plan::WorkItem& item : again.items)
    for (std::int64_t row = item.q_begin; row < item.q_end; ++row)
      lse.rows.push_back({row, item.partial_row + row - item.q_begin});
  launch_.afterwards = AskAgain{second, std::move(lse)};
  return std::nullopt;
}

MaybeError Preparation::with_splits() {
  const DecodeMetadata& md = input_.launch.metadata;
  if (!input_.admission.faults.empty())
    return Error{ErrorCode::refused, "nothing can be left out of a launch without a plan: " +
                                         input_.admission.faults.front().what};
  std::vector<std::int32_t> splits;
  for (std::int64_t r = 0; r <= md.requests().count(); ++r)
    splits.push_back(static_cast<std::int32_t>(r * md.shape.kv_splits));
  Address list = 0;
  if (MaybeError bad = bring("num_kv_splits_indptr", splits, list)) return bad;
  arguments_.work = list;
  arguments_.partial_out = address_of(input_.buffers.partial_out);
  arguments_.partial_lse = address_of(input_.buffers.partial_lse);
  if (md.shape.kv_splits > 1) return std::nullopt;
  // One split: the kernel writes the output as bf16, or f32 that are rounded afterwards.
  const std::int64_t rows = input_.rows.kernel_rows();
  LseInScratch lse;
  for (std::int64_t row = 0; row < rows; ++row) lse.rows.push_back({row, row});
  if (plan::merges_one_split(md.shape.row_heads(), md.shape.max_qo_len, md.shape.dtype)) {
    auto partials = scratch(rows, arguments_);
    if (!partials) return partials.error();
    lse.scratch = std::move(*partials);
    launch_.afterwards = RoundPartials{std::move(lse)};
    return std::nullopt;
  }
  // It writes an LSE only of partial results, so it is asked for those of two splits.
  arguments_.partial_out = address_of(input_.buffers.out);
  KernelRun second = launch_.run;
  for (std::int32_t& s : splits) s *= 2;
  if (MaybeError bad = bring("num_kv_splits_indptr of two", splits, list)) return bad;
  second.arguments.work = list;
  second.arguments.kv_splits = 2U;
  second.arguments.single_split = 0U;
  second.size.grid_z = 2;
  auto partials = scratch(2 * rows, second.arguments);
  if (!partials) return partials.error();
  lse.scratch = std::move(*partials);
  lse.splits = 2;
  for (auto& [row, partial] : lse.rows) partial = 2 * row;
  launch_.afterwards = AskAgain{second, std::move(lse)};
  return std::nullopt;
}

}  // namespace

Result<Stage1Launch> prepare_stage1(const Stage1Input& input, const Selection& selection,
                                    const AiterOptions& options) {
  return Preparation(input, selection, options).make();
}

float merged_lse(std::span<const float> lse, std::size_t first, std::size_t splits,
                 std::size_t width) {
  float sum = std::bit_cast<float>(kPoisonF32);
  for (std::size_t split = 0; split < splits; ++split) {
    const float l = lse[first + split * width];
    if (std::isnan(l)) continue;  // the poison is one as well
    const bool alone = std::bit_cast<std::uint32_t>(sum) == kPoisonF32;
    sum = alone ? l : std::max(l, sum) + std::log1p(std::exp(-std::fabs(l - sum)));
  }
  return sum;
}

}  // namespace mla::hip::aiter
