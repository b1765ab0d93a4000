// Launch: what every backend does around its kernels, wherever they run.
//
// Fails: check_launch() with what contradicts what; write_keyless() adds a fault for rows that the
// launch does not have, and goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/row_map.hpp"

namespace mla {

// What no backend can run, whatever its kernels are; each adds its own reasons.
Support common_support(const ResolvedShape& shape);

// Whether tensors and metadata belong together: dtypes, bytes, entries of the lists, and a plan
// with lists of bounds where the route needs it.
MaybeError check_launch(const DecodeLaunch& launch);

// Q in the kernel's rows and heads, one dense tensor [kernel rows, row heads, key] of `dtype`.
std::vector<std::byte> pack_q(const RowMap& rows, const DecodeTensors& tensors, Dtype dtype);

// Output and LSE of the model's heads, appended to `result`, from those of the kernel: `out` is
// [kernel rows, row heads, value], `lse` [kernel rows, row heads].
void unpack_rows(const RowMap& rows, ValueDims value, std::span<const std::uint16_t> out,
                 std::span<const float> lse, DecodeResult& result);

// The rows of requests without keys, from rows and lengths of the requests.
std::vector<RowRange> keyless_rows_of(std::span<const std::int32_t> qo_indptr,
                                      std::span<const std::int64_t> kv_lens);

// No kernel is relied on for rows without keys: output 0 and LSE -inf (BUG-074, BUG-085). `result`
// holds the final output of every row of the launch.
void write_keyless(const DecodeMetadata& metadata, DecodeResult& result);

}  // namespace mla
