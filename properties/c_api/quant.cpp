// Casts to fp8 through the C interface.
#include "core/say.hpp"
#include "cpu_backend/calls/quant_call.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;

struct Cast {
  std::int64_t arch, kind;
  const aiter_tensor_t *input, *output, *scales;
};

std::string shape_of(const aiter_tensor_t& t) {
  return shape_text({t.shape, static_cast<std::size_t>(t.ndim)});
}

MaybeFailure check(const Cast& c, std::int64_t& rows, std::int64_t& columns) {
  if (auto bad = check_fields({{"kind", c.kind, MLA_SCALE_GIVEN, MLA_SCALE_OF_ROW}})) return bad;
  if (auto bad = check_tensor(
          c.input, {.name = "input", .dtypes = {MLA_DTYPE_BF16, MLA_DTYPE_FP16, MLA_DTYPE_FP32}}))
    return bad;
  if (c.input->ndim < 1) return bad_tensor("input", "1 dimension or more", "0");
  if (auto bad = check_tensor(c.output, {.name = "output", .dtypes = {MLA_DTYPE_FP8}})) return bad;
  if (c.output->numel != c.input->numel)
    return bad_tensor("output", say(c.input->numel, " elements as input"),
                      say(c.output->numel, " of shape ", shape_of(*c.output)));
  if (auto bad = check_tensor(c.scales, {.name = "scales", .dtypes = {MLA_DTYPE_FP32}})) return bad;
  columns = c.input->shape[c.input->ndim - 1];
  rows = columns > 0 ? static_cast<std::int64_t>(c.input->numel) / columns : 0;
  const auto wanted = static_cast<std::size_t>(c.kind == MLA_SCALE_OF_ROW ? rows : 1);
  if (c.scales->numel < wanted || (c.kind != MLA_SCALE_OF_ROW && c.scales->numel != 1))
    return bad_tensor("scales", say(wanted, " elements"), std::to_string(c.scales->numel));
  return std::nullopt;
}

MaybeFailure cast(const Cast& c) {
  const auto arch = arch_of(c.arch);
  if (!arch) return failure_of(arch.error());
  cpu::QuantCall call;
  if (auto bad = check(c, call.rows, call.columns)) return bad;
  call.kind = c.kind == MLA_SCALE_GIVEN       ? cpu::QuantScale::given
              : c.kind == MLA_SCALE_OF_TENSOR ? cpu::QuantScale::of_tensor
                                              : cpu::QuantScale::of_row;
  call.type = source_type(c.input->dtype);
  call.input = static_cast<const std::byte*>(c.input->ptr);
  call.output = static_cast<std::uint8_t*>(c.output->ptr);
  call.scales = elements<float>(*c.scales);
  call.variant = fp8_variant(*arch);
  cpu::quantise(call);
  return std::nullopt;
}

}  // namespace
}  // namespace mla::c_api

extern "C" int mla_quantise_fp8(int64_t arch, int64_t kind, const aiter_tensor_t* input,
                                const aiter_tensor_t* output, const aiter_tensor_t* scales) {
  return mla::c_api::at_border(
      [&] { return mla::c_api::cast({arch, kind, input, output, scales}); });
}
