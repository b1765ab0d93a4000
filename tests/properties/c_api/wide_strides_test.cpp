// Claims about strides that no kernel argument holds: AITER's entry points refuse them before any
// memory is read.
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "hip_backend/aiter/kernarg_range.hpp"
#include "properties/c_api/aiter/mla_testbed_aiter.h"
#include "tests/catch.hpp"

using mla::hip::aiter::fits_kernarg;
using mla::test::contains;

namespace {

constexpr std::int64_t kHeads = 16;
std::int32_t memory[4096];  // of all tensors: calls that are refused read none of it

aiter_tensor_t tensor(mla_dtype dtype, const std::vector<std::int64_t>& shape) {
  aiter_tensor_t t = {};
  t.ptr = memory;
  t.ndim = static_cast<int>(shape.size());
  t.dtype = dtype;
  std::int64_t stride = 1;
  for (int d = t.ndim - 1; d >= 0; --d) {
    t.shape[d] = shape[static_cast<std::size_t>(d)];
    t.strides[d] = stride;
    stride *= t.shape[d];
  }
  t.numel = static_cast<std::size_t>(stride);
  return t;
}

struct Call {
  std::int64_t pages = 2;
  std::int64_t page_stride = 576;  // elements
  mla_dtype dtype = MLA_DTYPE_BF16;
  std::int64_t max_seqlen_q = 1;
};

// Why stage 1 of one request on the CPU is refused, with its status in front.
std::string refusal(const Call& call) {
  setenv("GPU_ARCHS", "gfx942", 1);
  setenv("CU_NUM", "80", 1);
  unsetenv("MLA_TESTBED_BACKEND");
  unsetenv("AITER_HSA");
  const aiter_tensor_t q = tensor(call.dtype, {1, kHeads, 576});
  aiter_tensor_t kv = tensor(call.dtype, {call.pages, 1, 1, 576});
  kv.strides[0] = call.page_stride;
  const aiter_tensor_t indptr = tensor(MLA_DTYPE_I32, {2});
  const aiter_tensor_t one = tensor(MLA_DTYPE_I32, {1});
  const aiter_tensor_t scale = tensor(MLA_DTYPE_FP32, {1});
  const aiter_tensor_t split_data = tensor(MLA_DTYPE_FP32, {1, 3, kHeads, 512});
  const aiter_tensor_t split_lse = tensor(MLA_DTYPE_FP32, {1, 3, kHeads, 1});
  const aiter_tensor_t output = tensor(MLA_DTYPE_BF16, {1, kHeads, 512});
  // An empty list of pages ends a call that is not refused before anything is computed.
  const int status = mla_decode_stage1_asm_fwd(&q, &kv, &indptr, &indptr, &one, &one, &indptr,
                                               nullptr, nullptr, nullptr, call.max_seqlen_q, 1, 1,
                                               1, &split_data, &split_lse, &output, nullptr, &scale,
                                               &scale, nullptr, 1, 0, nullptr, 0, 1, nullptr);
  return std::to_string(status) + ": " + (status == MLA_OK ? "" : mla_last_error());
}

constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();

}  // namespace

TEST_CASE("strides: a page stride of 4 GiB is unsupported, and named", "[c_api]") {
  CHECK_THAT(refusal({.page_stride = std::int64_t{1} << 31}),
             contains("2: the bytes from a page of 'KV' to the next") &&
                 contains("is 2147483648 times 2; AITER's kernels take it as a number of 32 bits"));
  CHECK_THAT(refusal({.page_stride = std::int64_t{1} << 32, .dtype = MLA_DTYPE_FP8}),
             contains("2: the bytes from a page of 'KV' to the next") && contains("times 1;"));
}

TEST_CASE("strides: the largest page stride of 32 bits, and any of a page alone, is no reason",
          "[c_api]") {
  CHECK_THAT(refusal({.page_stride = kMost / 2}), !contains("32 bits"));
  CHECK_THAT(refusal({.page_stride = kMost, .dtype = MLA_DTYPE_FP8}), !contains("32 bits"));
  CHECK_THAT(refusal({.pages = 1, .page_stride = std::int64_t{1} << 40}), !contains("32 bits"));
}

TEST_CASE("strides: rows of a request that take 4 GiB of Q are unsupported", "[c_api]") {
  const std::int64_t row = kHeads * 576 * 2;
  CHECK_THAT(refusal({.max_seqlen_q = kMost / row + 1}),
             contains("2: the bytes of a request in 'Q'") && contains("is 233017 times 18432"));
  CHECK_THAT(refusal({.max_seqlen_q = kMost / row}), !contains("32 bits"));
}

TEST_CASE("strides: a kernel argument of 32 bits holds products up to its largest number",
          "[c_api]") {
  CHECK_FALSE(fits_kernarg("x", kMost, 1));
  CHECK(fits_kernarg("x", kMost + 1, 1));
  CHECK_FALSE(fits_kernarg("x", kMost / 1152, 1152));
  CHECK(fits_kernarg("x", kMost / 1152 + 1, 1152));
  CHECK(fits_kernarg("x", -1, 1));
  CHECK(fits_kernarg("x", std::numeric_limits<std::int64_t>::max(), 2));  // no overflow
  CHECK(fits_kernarg("x", std::int64_t{1} << 31, 1, std::numeric_limits<std::int32_t>::max()));
}
