// The reduce through the C interface.
#include "cpu_backend/calls/reduce_call.hpp"
#include "properties/python/abi/backend.hpp"
#include "properties/python/abi/execution.hpp"
#include "properties/python/abi/options.hpp"
#include "properties/python/abi/tensors.hpp"

namespace mla::abi {
namespace {

using MaybeFailure = std::optional<Failure>;
using Tensors = mla_reduce_tensors;

MaybeFailure check_output(const Tensors& t) {
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
MaybeFailure check_partials(const Tensors& t) {
  const std::int64_t heads = t.final_output->shape[1];
  const std::int64_t dim = t.final_output->shape[2];
  if (auto bad =
          check_tensor(t.partial_output, {.name = "partial_output", .dtypes = {MLA_DTYPE_FP32}}))
    return bad;
  const aiter_tensor_t& out = *t.partial_output;
  if (out.ndim < 3 || out.shape[out.ndim - 2] != heads || out.shape[out.ndim - 1] != dim)
    return bad_tensor(
        "partial_output",
        "shape (.., " + std::to_string(heads) + ", " + std::to_string(dim) + ") as final_output",
        "shape " + shape_text({out.shape, static_cast<std::size_t>(out.ndim)}));
  if (auto bad = check_tensor(t.partial_lse, {.name = "partial_lse", .dtypes = {MLA_DTYPE_FP32}}))
    return bad;
  if (dim < 1 || t.partial_lse->numel * static_cast<std::size_t>(dim) != out.numel)
    return bad_tensor("partial_lse", "one element for each row and head of partial_output",
                      std::to_string(t.partial_lse->numel) + " elements");
  return std::nullopt;
}

MaybeFailure check_maps(const Tensors& t) {
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

cpu::ReduceCall call_of(const Tensors& t) {
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

MaybeFailure reduce(std::int64_t arch_number, const Tensors* tensors) {
  if (tensors == nullptr) return usage("tensors is NULL");
  const auto arch = arch_of(arch_number);
  if (!arch) return failure_of(arch.error());
  if (auto bad = check_output(*tensors)) return bad;
  if (auto bad = check_partials(*tensors)) return bad;
  if (auto bad = check_maps(*tensors)) return bad;
  // AITER has no code object of its reduce, which is compiled where it is installed: the emulator's
  // own serves every backend.
  if (const auto backend = chosen_backend(); !backend) return failure_of(backend.error());
  cpu::ReduceCall call = call_of(*tensors);
  call.arch = *arch;
  const auto report = cpu::run_reduce_call(call, threads());
  if (!report) return failure_of(report.error());
  return failure_of_faults("the reduce", report->faults);
}

}  // namespace
}  // namespace mla::abi

extern "C" int mla_reduce(int64_t arch, const mla_reduce_tensors* tensors) {
  return mla::abi::at_border([&] { return mla::abi::reduce(arch, tensors); });
}
