#include "tests/properties/c_api/caller.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/engine/launch.hpp"
#include "core/paging/pages.hpp"
#include "core/say.hpp"

namespace mla::test {
namespace {

std::string said(int status) {
  return status == MLA_OK ? "" : say(status, ": ", mla_last_error(), " ", mla_last_report());
}

constexpr std::byte kNothing{0xFF};  // a NaN in every format

}  // namespace

aiter_tensor_t c_tensor(const void* at, mla_dtype dtype,
                        std::initializer_list<std::int64_t> shape) {
  aiter_tensor_t t = {};
  static const std::int64_t nothing = 0;
  t.ptr = const_cast<void*>(at != nullptr ? at : &nothing);
  t.dtype = dtype;
  t.ndim = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), t.shape);
  std::int64_t stride = 1;
  for (int d = t.ndim - 1; d >= 0; --d) {
    t.strides[d] = stride;
    stride *= t.shape[d];
  }
  t.numel = static_cast<std::size_t>(stride);
  return t;
}

mla_dtype c_dtype(Dtype dtype) {
  return dtype == Dtype::fp8 ? MLA_DTYPE_FP8 : MLA_DTYPE_BF16;
}

std::int64_t c_arch(Arch arch) {
  return arch == Arch::gfx942 ? MLA_GFX942 : MLA_GFX950;
}

Caller::Caller(const DecodeLaunch& launch, const RowMap& rows, prop::Random& random,
               const Misuse& misuse)
    : md_(launch.metadata),
      tensors_(launch.tensors),
      rows_(rows),
      misuse_(misuse),
      q_(pack_q(rows, launch.tensors, launch.metadata.shape.dtype.q)) {
  lay_out_cache(random);
}

void Caller::lay_out_cache(prop::Random& random) {
  const KvCache& cache = tensors_.cache;
  const std::int64_t page = md_.shape.page_size;
  const std::int64_t dense = page * cache.row_bytes();
  const std::int64_t gap = random.below(3) * 64;
  page_stride_ = page * cache.widths.key().count() + gap;
  const std::int64_t stride = page_stride_ * element_bytes(cache.dtype);
  const std::int64_t pages = cache.slots / page;
  cache_.assign(static_cast<std::size_t>(pages * stride), kNothing);
  for (std::int64_t p = 0; p < pages; ++p)
    std::memcpy(&cache_[static_cast<std::size_t>(p * stride)],
                &cache.bytes[static_cast<std::size_t>(p * dense)], static_cast<std::size_t>(dense));
  kv_indices_.assign(md_.kv_indices.begin(), md_.kv_indices.end());
  for (std::int64_t i = 0; i < md_.kv_indptr.back(); ++i)
    kv_indices_[static_cast<std::size_t>(i)] -= static_cast<std::int32_t>(cache.first_slot / page);
}

// Partials of `first` by `second` rows.
std::string Caller::call(mla_stage1_tensors t, std::int64_t first, std::int64_t second) {
  const ResolvedShape& shape = md_.shape;
  const std::int64_t heads = rows_.row_heads();
  const std::int64_t key = shape.widths.key().count();
  const std::int64_t value = shape.widths.value().count();
  const std::int64_t page = shape.page_size;
  const aiter_tensor_t q =
      c_tensor(q_.data(), c_dtype(shape.dtype.q), {rows_.kernel_rows(), heads, key});
  aiter_tensor_t kv =
      c_tensor(cache_.data(), c_dtype(shape.dtype.kv), {tensors_.cache.slots / page, page, 1, key});
  if (!misuse_.pages_together) kv.strides[0] = page_stride_;
  const auto list = [](std::span<const std::int32_t> words) {
    return c_tensor(words.data(), MLA_DTYPE_I32, {std::ssize(words)});
  };
  const aiter_tensor_t qo_indptr = list(md_.qo_indptr);
  const aiter_tensor_t kv_indptr = list(md_.kv_indptr);
  const aiter_tensor_t indices = list(kv_indices_);
  const aiter_tensor_t last = list(md_.last_page_len);
  constexpr float kOne = 1;
  const auto scale = [&](const float& x) {
    return c_tensor(misuse_.no_scales ? &kOne : &x, MLA_DTYPE_FP32, {1});
  };
  const aiter_tensor_t q_scale = scale(tensors_.q_scale);
  const aiter_tensor_t kv_scale = scale(tensors_.kv_scale);
  const aiter_tensor_t output =
      c_tensor(out.data(), MLA_DTYPE_BF16, {rows_.kernel_rows(), heads, value});
  // A single split is the output.
  const bool single = t.num_kv_splits_indptr != nullptr && second == 1;
  const aiter_tensor_t split_data =
      single ? c_tensor(out.data(), MLA_DTYPE_BF16, {first, 1, heads, value})
             : c_tensor(partial_out.data(), MLA_DTYPE_FP32, {first, second, heads, value});
  const aiter_tensor_t split_lse =
      c_tensor(single ? lse.data() : partial_lse.data(), MLA_DTYPE_FP32, {first, second, heads, 1});
  t.q = &q;
  t.kv = &kv;
  t.qo_indptr = &qo_indptr;
  t.kv_indptr = &kv_indptr;
  t.kv_page_indices = &indices;
  t.kv_last_page_lens = &last;
  t.split_data = &split_data;
  t.split_lse = &split_lse;
  t.output = &output;
  t.q_scale = &q_scale;
  t.kv_scale = &kv_scale;
  mla_stage1_options options;
  mla_stage1_defaults(&options);
  options.arch = c_arch(shape.arch);
  options.max_seqlen_q = shape.max_qo_len;
  options.page_size = page;
  options.causal = shape.causal ? 1 : 0;
  return said(
      mla_decode_stage1(&options, &t, tensors_.softmax_scale * (misuse_.halved ? 0.5F : 1.0F)));
}

std::string Caller::stage1(std::int64_t partial_rows, bool want_lse) {
  const std::int64_t heads = rows_.row_heads();
  const auto value = static_cast<std::size_t>(md_.shape.widths.value().count());
  const auto pairs = static_cast<std::size_t>(rows_.kernel_rows() * heads);
  const auto partials = static_cast<std::size_t>(partial_rows * heads);
  out.assign(pairs * value, kPoisonBf16);
  lse.assign(pairs, std::bit_cast<float>(kPoisonF32));
  partial_out.assign(partials * value, std::bit_cast<float>(kPoisonF32));
  partial_lse.assign(partials, std::bit_cast<float>(kPoisonF32));
  const plan::PlanView plan = md_.plan->view();
  std::vector<std::int32_t> slots(plan.work_indptr.begin(), plan.work_indptr.end());
  if (misuse_.last_work) --slots.back();
  const aiter_tensor_t work_indptr = c_tensor(slots.data(), MLA_DTYPE_I32, {std::ssize(slots)});
  const aiter_tensor_t work_info =
      c_tensor(plan.work_info.data(), MLA_DTYPE_I32,
               {std::ssize(plan.work_info) / plan::kWorkItemWords, plan::kWorkItemWords});
  const std::uint64_t addresses[] = {std::bit_cast<std::uintptr_t>(slots.data()),
                                     std::bit_cast<std::uintptr_t>(plan.work_info.data())};
  const aiter_tensor_t meta = c_tensor(addresses, MLA_DTYPE_U64, {2});
  const aiter_tensor_t final_lse =
      c_tensor(lse.data(), MLA_DTYPE_FP32, {rows_.kernel_rows(), heads});
  mla_stage1_tensors t = {};
  t.work_meta_data = want_lse ? &meta : nullptr;
  t.work_indptr = &work_indptr;
  t.work_info_set = &work_info;
  t.lse = want_lse ? &final_lse : nullptr;
  return call(t, partial_rows, 1);
}

// Splits without a key of a row keep what stands there: output 0 and LSE -inf, which no merge sees.
std::string Caller::split(std::int64_t splits, const std::vector<std::int32_t>& splits_indptr) {
  const std::int64_t heads = rows_.row_heads();
  const auto value = static_cast<std::size_t>(md_.shape.widths.value().count());
  const auto pairs = static_cast<std::size_t>(rows_.kernel_rows() * heads);
  out.assign(pairs * value, kPoisonBf16);
  lse.assign(pairs, std::bit_cast<float>(kPoisonF32));
  partial_out.assign(pairs * value * static_cast<std::size_t>(splits), 0);
  partial_lse.assign(pairs * static_cast<std::size_t>(splits),
                     -std::numeric_limits<float>::infinity());
  const aiter_tensor_t list =
      c_tensor(splits_indptr.data(), MLA_DTYPE_I32, {std::ssize(splits_indptr)});
  mla_stage1_tensors t = {};
  t.num_kv_splits_indptr = &list;
  return call(t, rows_.kernel_rows(), splits);
}

std::string Caller::merge(const Lists& lists, std::int64_t gap, bool with_map) {
  const std::int64_t heads = rows_.row_heads();
  const std::int64_t value = md_.shape.widths.value().count();
  const std::int64_t head_stride = value + gap / 2;
  const std::int64_t row_stride = heads * head_stride + gap;
  const std::int64_t rows = rows_.kernel_rows();
  // The caller's output, with words between heads and rows that are not its own.
  std::vector<std::uint16_t> apart(static_cast<std::size_t>(rows * row_stride), kPoisonBf16);
  const auto each_head = [&](const auto& visit) {
    for (std::int64_t pair = 0; pair < rows * heads; ++pair)
      visit(out.begin() + pair * value,
            apart.begin() + pair / heads * row_stride + pair % heads * head_stride);
  };
  each_head([&](auto dense, auto far) { std::copy_n(dense, value, far); });
  aiter_tensor_t final_out = c_tensor(apart.data(), MLA_DTYPE_BF16, {rows, heads, value});
  final_out.strides[0] = row_stride;
  final_out.strides[1] = head_stride;
  const aiter_tensor_t final_lse = c_tensor(lse.data(), MLA_DTYPE_FP32, {rows, heads});
  const std::int64_t partials = std::ssize(partial_lse) / heads;
  const aiter_tensor_t po =
      c_tensor(partial_out.data(), MLA_DTYPE_FP32, {partials, 1, heads, value});
  const aiter_tensor_t pl = c_tensor(partial_lse.data(), MLA_DTYPE_FP32, {partials, 1, heads, 1});
  const auto words = [](const std::vector<std::int32_t>& list) {
    return c_tensor(list.data(), MLA_DTYPE_I32, {std::ssize(list)});
  };
  const aiter_tensor_t indptr = words(lists.reduce_indptr);
  const aiter_tensor_t partial_map = words(lists.partial_map);
  std::vector<std::int32_t> map = lists.final_map;
  if (misuse_.other_rows && map.size() > 1 && map[1] < rows) ++map[0], ++map[1];
  const aiter_tensor_t final_map = c_tensor(map.data(), MLA_DTYPE_I32, {std::ssize(map) / 2, 2});
  const mla_reduce_tensors t = {.partial_output = &po,
                                .partial_lse = &pl,
                                .reduce_indptr = &indptr,
                                .reduce_final_map = with_map ? &final_map : nullptr,
                                .reduce_partial_map = &partial_map,
                                .final_output = &final_out,
                                .final_lse = has_lse ? &final_lse : nullptr};
  if (std::string bad = said(mla_reduce(c_arch(md_.shape.arch), &t)); !bad.empty()) return bad;
  each_head([&](auto dense, auto far) {
    std::copy_n(far, value, dense);
    std::fill_n(far, value, kPoisonBf16);
  });
  const bool left = std::ranges::all_of(apart, [](auto x) { return x == kPoisonBf16; });
  return left ? "" : "the reduce wrote between the rows or heads of its output";
}

std::string Caller::reduce(const plan::Plan& plan, std::int64_t gap, bool with_map) {
  const auto list = [](const plan::PlanBuffer& words) {
    return std::vector<std::int32_t>(words.data().begin(), words.data().end());
  };
  return merge(
      {list(plan.reduce_indptr), list(plan.reduce_final_map), list(plan.reduce_partial_map)}, gap,
      with_map);
}

std::string Caller::reduce_splits(std::int64_t splits) {
  if (splits == 1) return {};
  Lists lists;
  lists.reduce_indptr.push_back(0);
  for (std::int64_t row = 0; row < rows_.kernel_rows(); ++row) {
    for (std::int64_t z = 0; z < splits; ++z)
      lists.partial_map.push_back(static_cast<std::int32_t>(row * splits + z));
    lists.reduce_indptr.push_back(static_cast<std::int32_t>((row + 1) * splits));
    lists.final_map.insert(lists.final_map.end(),
                           {static_cast<std::int32_t>(row), static_cast<std::int32_t>(row + 1)});
  }
  return merge(lists, 0, true);
}

Result<cpu::ReferenceResult> c_reference(const Case& c, const Batch& batch,
                                         const DecodeTensors& tensors) {
  const auto requests = std::ssize(batch.requests);
  const std::int64_t page = c.page_size;
  std::vector<std::int32_t> qo(1), kv(1), last;
  for (const RequestSpec& r : batch.requests) {
    qo.push_back(qo.back() + static_cast<std::int32_t>(r.qo_len));
    kv.push_back(kv.back() + static_cast<std::int32_t>(ceil_div(r.kv_len, page)));
    last.push_back(r.kv_len > 0 ? static_cast<std::int32_t>((r.kv_len - 1) % page + 1) : 0);
  }
  const auto words = [](const std::vector<std::int32_t>& list) {
    return c_tensor(list.data(), MLA_DTYPE_I32, {std::ssize(list)});
  };
  std::vector<std::int32_t> indices(static_cast<std::size_t>(kv.back()));
  const aiter_tensor_t table =
      c_tensor(batch.block_table.data(), MLA_DTYPE_I32, {requests, batch.columns});
  const aiter_tensor_t kv_indptr = words(kv);
  const aiter_tensor_t kv_indices = words(indices);
  if (const std::string bad =
          said(mla_expand_pages(&table, &kv_indptr, nullptr, batch.block_size / page, &kv_indices));
      !bad.empty())
    return Error{ErrorCode::fault, "mla_expand_pages: " + bad};
  for (std::int32_t& entry : indices)
    entry -= static_cast<std::int32_t>(tensors.cache.first_slot / page);
  const std::int64_t key = tensors.cache.widths.key().count();
  const std::int64_t value = tensors.cache.widths.value().count();
  const aiter_tensor_t q =
      c_tensor(tensors.q.data(), c_dtype(c.dtype.q), {qo.back(), c.heads, key});
  const aiter_tensor_t cache = c_tensor(tensors.cache.bytes.data(), c_dtype(c.dtype.kv),
                                        {tensors.cache.slots / page, page, 1, key});
  const aiter_tensor_t qo_indptr = words(qo);
  const aiter_tensor_t last_lens = words(last);
  const aiter_tensor_t q_scale = c_tensor(&tensors.q_scale, MLA_DTYPE_FP32, {1});
  const aiter_tensor_t kv_scale = c_tensor(&tensors.kv_scale, MLA_DTYPE_FP32, {1});
  const aiter_tensor_t width = c_tensor(nullptr, MLA_DTYPE_BF16, {qo.back(), c.heads, value});
  mla_stage1_tensors t = {};
  t.q = &q;
  t.kv = &cache;
  t.qo_indptr = &qo_indptr;
  t.kv_indptr = &kv_indptr;
  t.kv_page_indices = &kv_indices;
  t.kv_last_page_lens = &last_lens;
  t.output = &width;
  t.q_scale = &q_scale;
  t.kv_scale = &kv_scale;
  cpu::ReferenceResult out;
  const auto pairs = static_cast<std::size_t>(qo.back() * c.heads);
  for (auto* list : {&out.lse, &out.lse_bound}) list->resize(pairs);
  for (auto* list : {&out.out, &out.out_bound})
    list->resize(pairs * static_cast<std::size_t>(value));
  const mla_reference_results results = {out.out.data(), out.out_bound.data(), out.lse.data(),
                                         out.lse_bound.data()};
  if (const std::string bad = said(mla_reference(c_arch(c.arch), page, c.causal ? 1 : 0, &t,
                                                 tensors.softmax_scale, &results));
      !bad.empty())
    return Error{ErrorCode::fault, "mla_reference: " + bad};
  return out;
}

}  // namespace mla::test
