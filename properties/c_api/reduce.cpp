// The reduce through the C interface.
#include "core/say.hpp"
#include "cpu_backend/calls/reduce_call.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "hip_backend/calls/decode_call.hpp"
#include "properties/c_api/backend.hpp"
#include "properties/c_api/device.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/tensors.hpp"
#include "properties/c_api/written.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;

MaybeFailure check_output(const mla_reduce_tensors& t) {
  if (auto bad = check_tensor(t.final_output, {.name = "final_output",
                                               .dtypes = {MLA_DTYPE_BF16, MLA_DTYPE_FP16},
                                               .shape = {kAny, kAny, kAny},
                                               .contiguous = false}))
    return bad;
  const aiter_tensor_t& out = *t.final_output;
  if (out.numel > 0 && out.shape[2] > 1 && out.strides[2] != 1)
    return bad_tensor("final_output", "a dense last dimension",
                      "strides " + shape_text({out.strides, 3}));
  if (t.final_lse == nullptr) return std::nullopt;
  return check_tensor(
      t.final_lse,
      {.name = "final_lse", .dtypes = {MLA_DTYPE_FP32}, .shape = {out.shape[0], out.shape[1]}});
}

// Partials may carry further extents of 1: only their elements count.
MaybeFailure check_partials(const mla_reduce_tensors& t) {
  const std::int64_t heads = t.final_output->shape[1];
  const std::int64_t dim = t.final_output->shape[2];
  if (auto bad =
          check_tensor(t.partial_output, {.name = "partial_output", .dtypes = {MLA_DTYPE_FP32}}))
    return bad;
  const aiter_tensor_t& out = *t.partial_output;
  if (out.ndim < 3 || out.shape[out.ndim - 2] != heads || out.shape[out.ndim - 1] != dim)
    return bad_tensor("partial_output", say("shape (.., ", heads, ", ", dim, ") as final_output"),
                      "shape " + shape_text({out.shape, static_cast<std::size_t>(out.ndim)}));
  if (auto bad = check_tensor(t.partial_lse, {.name = "partial_lse", .dtypes = {MLA_DTYPE_FP32}}))
    return bad;
  if (dim < 1 || t.partial_lse->numel * static_cast<std::size_t>(dim) != out.numel)
    return bad_tensor("partial_lse", "one element for each row and head of partial_output",
                      say(t.partial_lse->numel, " elements"));
  return std::nullopt;
}

MaybeFailure check_maps(const mla_reduce_tensors& t) {
  const Wanted list = {.name = "reduce_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}};
  if (auto bad = check_tensor(t.reduce_indptr, list)) return bad;
  if (t.reduce_indptr->numel < 1) return bad_tensor("reduce_indptr", "at least 1 entry", "0");
  if (t.reduce_final_map != nullptr)
    if (auto bad = check_tensor(
            t.reduce_final_map,
            {.name = "reduce_final_map", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny, 2}}))
      return bad;
  return check_tensor(t.reduce_partial_map,
                      {.name = "reduce_partial_map", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}});
}

cpu::ReduceCall call_of(const mla_reduce_tensors& t) {
  const aiter_tensor_t& out = *t.final_output;
  cpu::ReduceCall call;
  call.partial_out = static_cast<const float*>(t.partial_output->ptr);
  call.partial_lse = static_cast<const float*>(t.partial_lse->ptr);
  call.heads = out.shape[1];
  call.dim = out.shape[2];
  call.partial_rows =
      call.heads > 0 ? static_cast<std::int64_t>(t.partial_lse->numel) / call.heads : 0;
  call.reduce_indptr = elements<const std::int32_t>(*t.reduce_indptr);
  call.has_final_map = t.reduce_final_map != nullptr;
  if (call.has_final_map) call.reduce_final_map = elements<const std::int32_t>(*t.reduce_final_map);
  call.reduce_partial_map = elements<const std::int32_t>(*t.reduce_partial_map);
  call.type = out.dtype == MLA_DTYPE_FP16 ? cpu::ReducedType::f16 : cpu::ReducedType::bf16;
  call.out = static_cast<std::uint16_t*>(out.ptr);
  call.out_rows = out.shape[0];
  call.row_stride = out.strides[0];
  call.head_stride = out.strides[1];
  if (t.final_lse != nullptr) call.lse = static_cast<float*>(t.final_lse->ptr);
  return call;
}

// Pieces that still hold what no kernel computes: they were not written.
std::vector<Fault> unwritten_pieces(const cpu::ReduceCall& call, const cpu::MergeList& list) {
  std::vector<Fault> faults;
  for (const cpu::MergeRow& row : list.rows) {
    for (std::int64_t k = row.first; k < row.first + row.count; ++k) {
      const std::int64_t partial = list.partials[static_cast<std::size_t>(k)];
      for (std::int64_t head = 0; head < call.heads; ++head) {
        const std::int64_t pair = partial * call.heads + head;
        const bool lse = is_poison(call.partial_lse + pair, 1);
        if (!lse && !is_poison(call.partial_out + pair * call.dim, call.dim)) continue;
        faults.push_back({say(lse ? "partial_lse" : "partial_output", " row ", partial, " head ",
                              head, ", a piece of output row ", row.row, ", was never written"),
                          -1, -1});
      }
    }
  }
  return faults;
}

void expect_rows(const cpu::ReduceCall& call, const cpu::MergeList& list, Expectation& expected) {
  for (const cpu::MergeRow& row : list.rows) {
    for (std::int64_t head = 0; head < call.heads; ++head) {
      const std::string where = say(" row ", row.row, " head ", head);
      expected.row("final_output" + where,
                   call.out + row.row * call.row_stride + head * call.head_stride, call.dim, 2);
      if (call.lse != nullptr)
        expected.row("final_lse" + where, call.lse + row.row * call.heads + head, 1, 4);
    }
  }
}

// By the kernel of backend hip, which takes a dense bf16 output.
MaybeFailure on_device(const cpu::ReduceCall& call) {
  if (call.type != cpu::ReducedType::bf16)
    return Failure{MLA_UNSUPPORTED, "the reduce of backend hip writes bf16, not fp16", "", ""};
  const std::int64_t row = call.heads * call.dim;
  std::vector<std::uint16_t> out(static_cast<std::size_t>(call.out_rows * row));
  const auto each_head = [&](const auto& visit) {
    for (std::int64_t r = 0; r < call.out_rows; ++r)
      for (std::int64_t head = 0; head < call.heads; ++head)
        visit(call.out + r * call.row_stride + head * call.head_stride,
              out.data() + r * row + head * call.dim);
  };
  each_head([&](const std::uint16_t* caller, std::uint16_t* ours) {
    std::copy_n(caller, call.dim, ours);
  });
  const auto pairs = static_cast<std::size_t>(call.out_rows * call.heads);
  std::vector<float> unwanted(call.lse == nullptr ? pairs : 0);
  const auto partials = static_cast<std::size_t>(call.partial_rows * call.heads);
  const std::vector<std::int32_t> map = cpu::final_map_of(call);
  const hip::MergeCall merge = {
      .arch = call.arch,
      .reduce_indptr = call.reduce_indptr,
      .reduce_final_map = map,
      .reduce_partial_map = call.reduce_partial_map,
      .partial_out = {call.partial_out, partials * static_cast<std::size_t>(call.dim)},
      .partial_lse = {call.partial_lse, partials},
      .heads = call.heads,
      .dims = call.dim,
      .out = out,
      .lse = call.lse != nullptr ? std::span(call.lse, pairs) : std::span(unwanted)};
  if (auto bad = on_chosen_device(
          call.arch, [&](hip::Device& device) { return hip::run_merge_call(device, merge); }))
    return bad;
  each_head([&](std::uint16_t* caller, const std::uint16_t* ours) {
    std::copy_n(ours, call.dim, caller);
  });
  return std::nullopt;
}

MaybeFailure run(BackendKind backend, const cpu::ReduceCall& call, const cpu::MergeList& list) {
  if (backend == BackendKind::hip) {
    if (auto bad = failure_of_faults("the reduce", list.faults)) return bad;
    return on_device(call);
  }
  return failure_of_faults("the reduce", cpu::run_reduce_merges(call, list, threads()).faults);
}

MaybeFailure reduce(std::int64_t arch_number, const mla_reduce_tensors* tensors) {
  if (tensors == nullptr) return usage("tensors is NULL");
  const auto arch = arch_of(arch_number);
  if (!arch) return failure_of(arch.error());
  if (auto bad = check_output(*tensors)) return bad;
  if (auto bad = check_partials(*tensors)) return bad;
  if (auto bad = check_maps(*tensors)) return bad;
  // AITER has no code object of its reduce, which is compiled where it is installed: for backend
  // aiter the emulator's own serves.
  const auto backend = chosen_backend();
  if (!backend) return failure_of(backend.error());
  cpu::ReduceCall call = call_of(*tensors);
  call.arch = *arch;
  const auto list = cpu::prepare_reduce_call(call);
  if (!list) return failure_of(list.error());
  if (!written_is_checked()) return run(*backend, call, *list);
  std::vector<Fault> faults = unwritten_pieces(call, *list);
  Expectation expected;
  expect_rows(call, *list, expected);
  expected.poison();
  if (auto bad = run(*backend, call, *list)) return bad;
  const std::vector<Fault> unwritten = expected.finish();
  faults.insert(faults.end(), unwritten.begin(), unwritten.end());
  return failure_of_faults("the reduce", faults);
}

}  // namespace
}  // namespace mla::c_api

extern "C" int mla_reduce(int64_t arch, const mla_reduce_tensors* tensors) {
  return mla::c_api::at_border([&] { return mla::c_api::reduce(arch, tensors); });
}
