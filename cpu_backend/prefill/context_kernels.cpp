#include <algorithm>
#include <cmath>
#include <string>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "cpu_backend/merge.hpp"
#include "cpu_backend/prefill/kernels.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {
namespace {

using prefill::kQkDim;
using prefill::kVDim;

}  // namespace

void run_gather(const KernelContext& context, const GatherLaunch& launch) {
  context.launches.add({"cpu", kHost, StepKind::prefill, "gather"});
  const prefill::ContextChunk& chunk = launch.chunk;
  const std::int64_t key_row = launch.heads * kQkDim;
  const std::int64_t value_row = launch.heads * kVDim;
  const auto fault = [&](std::int64_t token, const std::string& what) {
    context.faults.push_back({say("gather of context token ", token, ": ", what), -1, -1});
  };
  if (chunk.tokens() > launch.capacity)
    return fault(chunk.tokens() - 1, say("the workspace holds ", launch.capacity));
  for (std::int64_t t = 0; t < chunk.tokens(); ++t) {
    const auto i = static_cast<std::size_t>(chunk.token_to_seq[static_cast<std::size_t>(t)]);
    const std::int64_t position = chunk.starts[i] + t - chunk.cu_seq_lens[i];
    const std::int64_t request = chunk.first_request + static_cast<std::int64_t>(i);
    const std::int64_t column = position / launch.block_size;
    if (request >= launch.table.rows || position < 0 || column >= launch.table.columns) {
      fault(t, say("block ", column, " of request ", request, " is not in the table"));
      continue;
    }
    const std::int64_t slot = std::int64_t{launch.table.at(request, column)} * launch.block_size +
                              position % launch.block_size - launch.cache.first_slot;
    if (slot < 0 || slot >= launch.cache.slots) {
      fault(t, say("slot ", slot + launch.cache.first_slot, " is not backed"));
      continue;
    }
    for (std::int64_t h = 0; h < launch.heads; ++h) {
      const std::uint16_t* from =
          launch.cache.bits.data() + (slot * launch.heads + h) * (kQkDim + kVDim);
      std::copy_n(from, kQkDim, launch.keys + t * key_row + h * kQkDim);
      std::copy_n(from + kQkDim, kVDim, launch.values + t * value_row + h * kVDim);
    }
  }
}

void run_merge_states(const KernelContext& context, const MergeLaunch& launch) {
  context.launches.add({"cpu", kHost, StepKind::prefill, "merge"});
  const Bf16Rounding rounding = Bf16Rounding::nearest_even;
#pragma omp parallel for num_threads(team(context.threads)) schedule(static)
  for (std::int64_t row = 0; row < launch.rows; ++row) {
    for (std::int64_t head = 0; head < launch.heads; ++head) {
      const float a = *launch.prefix.lse.at(row, head);
      const float b = *launch.suffix.lse.at(row, head);
      const float top = std::fmax(a, b);
      // A set without keys has weight 0, also when the other one has none either.
      const float wa = a == kNoKey ? 0.0F : std::exp(a - top);
      const float wb = b == kNoKey ? 0.0F : std::exp(b - top);
      const float sum = wa + wb;
      const std::uint16_t* from_a = launch.prefix.out.at(row, head);
      const std::uint16_t* from_b = launch.suffix.out.at(row, head);
      std::uint16_t* to = launch.out.at(row, head);
      for (std::int64_t d = 0; d < kVDim; ++d) {
        float value = 0;
        if (wa != 0) value += bf16_to_float(from_a[d]) * (wa / sum);
        if (wb != 0) value += bf16_to_float(from_b[d]) * (wb / sum);
        to[d] = bf16_from_float(value, rounding);
      }
      *launch.lse.at(row, head) = sum == 0 ? kNoKey : std::log(sum) + top;
    }
  }
}

}  // namespace mla::cpu
