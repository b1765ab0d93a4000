#include "hip_backend/decode/decode_run.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "core/engine/launch.hpp"
#include "hip_backend/admission/admit.hpp"
#include "hip_backend/decode/rounding.hpp"
#include "hip_backend/kernels/code_objects.hpp"

namespace mla::hip {
namespace {

constexpr std::uint32_t kPoisonF32Word = kPoisonF32;
constexpr std::uint32_t kPoisonBf16Word = kPoisonBf16 * 0x10001U;

template <class T>
T* at(Address address) {
  return std::bit_cast<T*>(address);
}

}  // namespace

MaybeError DecodeRun::bring(std::string name, std::span<const std::byte> bytes, Input kind,
                            Address& to) {
  const std::int64_t after = (exact_ & kind) != 0 ? 0 : room_;
  auto buffer = Buffer::holding(*device_, std::move(name), bytes, after);
  if (!buffer) return buffer.error();
  to = buffer->address();
  buffers_.push_back(std::move(*buffer));
  return std::nullopt;
}

MaybeError DecodeRun::output(std::string name, std::int64_t bytes, std::uint32_t word,
                             std::size_t& index) {
  auto buffer = Buffer::filled(*device_, std::move(name), bytes, word);
  if (!buffer) return buffer.error();
  index = buffers_.size();
  buffers_.push_back(std::move(*buffer));
  return std::nullopt;
}

MaybeError DecodeRun::bring_inputs(const DecodeLaunch& launch, const DecodeRunOptions& options) {
  const DecodeMetadata& md = launch.metadata;
  const KvCache& cache = launch.tensors.cache;
  Address address = 0;
  const auto put_as = [&](Input kind, const char* what, auto span, auto*& pointer) -> MaybeError {
    if (MaybeError bad = bring(what, std::as_bytes(span), kind, address)) return bad;
    pointer = at<std::remove_pointer_t<std::remove_reference_t<decltype(pointer)>>>(address);
    return std::nullopt;
  };
  const auto put = [&](const char* what, auto span, auto*& pointer) -> MaybeError {
    return put_as(kInputLists, what, span, pointer);
  };
  const std::vector<std::byte> q = pack_q(rows_, launch.tensors, md.shape.dtype.q);
  if (MaybeError bad = put_as(kInputQ, "q", std::span(q), decode_.q)) return bad;
  first_slot_ = cache.first_slot;
  const std::int64_t before = cache.first_slot * cache.row_bytes();
  if (before > 0 && before + std::ssize(cache.bytes) <= options.whole_cache_bytes) {
    first_slot_ = 0;
    std::size_t index = 0;
    if (MaybeError bad =
            output("the cache", before + std::ssize(cache.bytes), kPoisonBf16Word, index))
      return bad;
    const Address begin = buffers_[index].address();
    if (MaybeError bad = device_->copy_in(begin + static_cast<Address>(before), cache.bytes))
      return bad;
    const std::int64_t page_bytes = md.shape.page_size * cache.row_bytes();
    if (options.page_zero_is_zero)
      if (MaybeError bad = device_->fill(begin, 0, std::min(page_bytes, before) / 4)) return bad;
    decode_.cache = at<const void>(begin);
  } else if (MaybeError bad =
                 put_as(kInputCache, "the cache", std::span(cache.bytes), decode_.cache)) {
    return bad;
  }
  if (MaybeError bad = put("kv_indices", md.kv_indices, decode_.kv_indices)) return bad;
  if (MaybeError bad = put("kv_indptr", md.kv_indptr, decode_.kv_indptr)) return bad;
  if (MaybeError bad = put("qo_indptr", md.qo_indptr, decode_.qo_indptr)) return bad;
  if (MaybeError bad = put("last_page_len", md.last_page_len, decode_.last_page_len)) return bad;
  if (MaybeError bad = put("skipped works", std::span(admission_.skip), decode_.skip)) return bad;
  if (MaybeError bad = put("skipped slots", std::span(admission_.skip_slot), decode_.skip_slot))
    return bad;
  if (MaybeError bad = put("skipped merges", std::span(admission_.skip_tile), reduce_.skip))
    return bad;
  if (md.shape.route == Route::split) return std::nullopt;

  const plan::PlanView plan = md.plan->view();
  std::array<Address, 2> meta{};
  if (MaybeError bad = bring("work_indptr", std::as_bytes(plan.work_indptr), kInputLists, meta[0]))
    return bad;
  if (MaybeError bad = bring("work_info_set", std::as_bytes(plan.work_info), kInputLists, meta[1]))
    return bad;
  if (MaybeError bad = put("work_meta_data", std::span(meta), decode_.work_meta_data)) return bad;
  if (MaybeError bad = put("reduce_indptr", plan.reduce_indptr, reduce_.reduce_indptr)) return bad;
  if (MaybeError bad = put("reduce_final_map", plan.reduce_final_map, reduce_.reduce_final_map))
    return bad;
  return put("reduce_partial_map", plan.reduce_partial_map, reduce_.reduce_partial_map);
}

MaybeError DecodeRun::make_outputs() {
  const std::int64_t rows = rows_.kernel_rows() * rows_.row_heads();
  const std::int64_t partials = admission_.partial_rows * rows_.row_heads();
  if (MaybeError bad =
          output("the output", rows * kBuiltIn.value().count() * 2, kPoisonBf16Word, out_))
    return bad;
  if (MaybeError bad = output("the LSE", rows * 4, kPoisonF32Word, lse_)) return bad;
  if (MaybeError bad = output("the partial outputs", partials * kBuiltIn.value().count() * 4,
                              kPoisonF32Word, partial_out_))
    return bad;
  return output("the partial LSE", partials * 4, kPoisonF32Word, partial_lse_);
}

void DecodeRun::fill_arguments(const DecodeLaunch& launch, const DecodeRunOptions& options) {
  const ResolvedShape& shape = launch.metadata.shape;
  const DecodeTensors& t = launch.tensors;
  decode_.out = at<unsigned short>(buffers_[out_].address());
  decode_.lse = at<float>(buffers_[lse_].address());
  decode_.partial_out = at<float>(buffers_[partial_out_].address());
  decode_.partial_lse = at<float>(buffers_[partial_lse_].address());
  decode_.first_slot = first_slot_;
  decode_.heads = static_cast<int>(rows_.row_heads());
  decode_.fold = static_cast<int>(rows_.fold());
  decode_.uniform_qo_len = static_cast<int>(shape.uniform_qo_len);
  decode_.page_shift = std::countr_zero(static_cast<std::uint64_t>(shape.page_size));
  decode_.masks = shape.causal && shape.kernel.masks ? 1 : 0;
  decode_.splits = shape.route == Route::split ? static_cast<int>(shape.kv_splits) : 0;
  decode_.granularity = static_cast<int>(shape.split_granularity);
  decode_.rounding = rounding_number(stage1_rounding(shape.arch));
  const float scale = t.softmax_scale * t.q_scale * t.kv_scale;
  decode_.score_scale = scale * 1.44269504088896341F;  // log2(e)
  decode_.out_scale = t.kv_scale;
  const bool fnuz = shape.fp8 == Fp8Variant::e4m3fnuz;
  decode_.fp8_factor = fnuz ? 0x1p119F : 0x1p120F;
  decode_.fp8_nan = fnuz ? 0x80 : 0x7F;
  decode_.sleep_seed = options.sleep_seed;

  reduce_.kv_indptr = decode_.kv_indptr;
  reduce_.qo_indptr = decode_.qo_indptr;
  reduce_.last_page_len = decode_.last_page_len;
  reduce_.partial_out = decode_.partial_out;
  reduce_.partial_lse = decode_.partial_lse;
  reduce_.out = decode_.out;
  reduce_.lse = decode_.lse;
  reduce_.heads = decode_.heads;
  reduce_.dims = static_cast<int>(kBuiltIn.value().count());
  reduce_.page_shift = decode_.page_shift;
  reduce_.splits = decode_.splits;
  reduce_.granularity = decode_.granularity;
  reduce_.rounding = rounding_number(reduce_rounding(shape.arch));
}

MaybeError DecodeRun::find_kernels(const DecodeLaunch& launch, const DecodeRunOptions& options) {
  auto reduce = reduce_launch({*device_, rows_, admission_, reduce_});
  if (!reduce) return reduce.error();
  reduce_launch_ = std::move(*reduce);
  auto stage1 = options.stage1.make({*device_, launch, rows_, admission_, decode_, launches_});
  if (!stage1) return stage1.error();
  stage1_ = std::move(*stage1);
  return std::nullopt;
}

Result<std::unique_ptr<DecodeRun>> DecodeRun::prepare(Device& device, const DecodeLaunch& launch,
                                                      const DecodeRunOptions& options) {
  std::unique_ptr<DecodeRun> run(new DecodeRun);
  run->device_ = &device;
  run->record_stages_ = options.record_stages;
  run->exact_ = options.exact_inputs;
  run->room_ = options.room_behind_inputs;
  Result<RowMap> rows = RowMap::make(launch.metadata);
  if (!rows) return rows.error();
  run->rows_ = *rows;
  run->admission_ = options.as_planned ? admit_as_planned(launch.metadata)
                                       : admit({.metadata = launch.metadata,
                                                .cache = launch.tensors.cache,
                                                .kernel_rows = rows->kernel_rows(),
                                                .fold = rows->fold()});
  if (MaybeError bad = run->bring_inputs(launch, options)) return *bad;
  if (MaybeError bad = run->make_outputs()) return *bad;
  run->fill_arguments(launch, options);
  if (MaybeError bad = run->find_kernels(launch, options)) return *bad;
  return run;
}

MaybeError DecodeRun::stage1(StreamHandle stream) {
  if (admission_.longest == 0) return std::nullopt;
  return stage1_->run(stream);
}

MaybeError DecodeRun::reduce(StreamHandle stream) {
  if (admission_.longest_tile == 0) return std::nullopt;
  const ReduceLaunch& r = reduce_launch_;
  if (MaybeError bad = device_->launch(stream, r.kernel, r.size, r.arguments)) return bad;
  launches_.add({"hip", device_->properties().label, StepKind::decode, "reduce"});
  return std::nullopt;
}

MaybeError DecodeRun::read_stage1(DecodeResult& result) {
  if (admission_.longest > 0)
    if (MaybeError bad = stage1_->finish()) return bad;
  if (!record_stages_) return std::nullopt;
  auto out = buffers_[out_].read_all<std::uint16_t>();
  if (!out) return out.error();
  auto lse = buffers_[lse_].read_all<float>();
  if (!lse) return lse.error();
  result.stage1_out = std::move(*out);
  result.stage1_lse = std::move(*lse);
  return std::nullopt;
}

MaybeError DecodeRun::read_partials(DecodeResult& result) const {
  auto out = buffers_[partial_out_].read_all<float>();
  if (!out) return out.error();
  auto lse = buffers_[partial_lse_].read_all<float>();
  if (!lse) return lse.error();
  result.partial_out = std::move(*out);
  result.partial_lse = std::move(*lse);
  result.footprint = admission_.footprint;
  return std::nullopt;
}

MaybeError DecodeRun::read(const DecodeLaunch& launch, DecodeResult& result) const {
  auto out = buffers_[out_].read_all<std::uint16_t>();
  if (!out) return out.error();
  auto lse = buffers_[lse_].read_all<float>();
  if (!lse) return lse.error();
  if (record_stages_)
    if (MaybeError bad = read_partials(result)) return bad;
  result.kernel_heads = rows_.row_heads();
  result.faults = admission_.faults;
  for (std::string& damage : Buffer::damaged(buffers_))
    result.faults.push_back({std::move(damage), -1, -1});
  unpack_rows(rows_, kBuiltIn.value(), *out, *lse, result);
  write_keyless(launch.metadata, result);
  return std::nullopt;
}

}  // namespace mla::hip
