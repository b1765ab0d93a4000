// KernelBuffers: what stage 1 and the merge write, in the kernel's layout.
//
// Partial rows after the last one that a task or the reduce maps name are not backed by memory:
// the size query asks for gigabytes of them and no work may touch one.
#pragma once

#include <cstdint>

#include "core/engine/guarded_buffer.hpp"
#include "core/row_widths.hpp"

namespace mla::cpu {

struct KernelBuffers {
  KernelBuffers(std::int64_t partial_rows, std::int64_t kernel_rows, std::int64_t heads,
                ValueDims value)
      : heads(heads),
        value(value),
        partial_out("the partial outputs", partial_rows * heads * value.count()),
        partial_lse("the partial LSE", partial_rows * heads),
        out("the output", kernel_rows * heads * value.count()),
        lse("the LSE", kernel_rows * heads) {}

  std::int64_t heads;
  ValueDims value;
  GuardedBuffer<float> partial_out;  // [partial rows, heads, value]
  GuardedBuffer<float> partial_lse;  // [partial rows, heads]
  GuardedBuffer<std::uint16_t> out;  // [kernel rows, heads, value]
  GuardedBuffer<float> lse;          // [kernel rows, heads]
};

}  // namespace mla::cpu
