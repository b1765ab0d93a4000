#include "core/engine/fa/runner.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "core/engine/classify.hpp"
#include "core/say.hpp"

namespace mla::fa {
namespace {

using device::DeviceView;

// The host still knows both lengths here; a step of decodes is built without those of the keys.
MaybeError check_keys(const Batch& batch) {
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const auto [q, n] = batch.requests[r];
    if (n > 0 && n < q)
      return Error{ErrorCode::refused,
                   say("request ", r, " has ", n, " keys for ", q,
                       " query rows: the first rows would see none"),
                   "BUG-075"};
  }
  return std::nullopt;
}

// Copies into the first elements of a buffer; a second operation holds the source until then.
template <class T>
DeviceView<T> stage(const char* name, std::vector<T> list, DeviceView<T> buffer,
                    device::Stream& stream) {
  const auto source = std::make_shared<const std::vector<T>>(std::move(list));
  const DeviceView<T> target = buffer.subview(0, source->size());
  stream.copy_to_device<T>(name, *source, target);
  stream.launch(say("release the source of ", name), [source](const device::DeviceAccess&) {});
  return target;
}

MaybeError check_capacity(const char* what, std::int64_t need, std::size_t have) {
  if (need <= static_cast<std::int64_t>(have)) return std::nullopt;
  return Error{ErrorCode::overrun,
               say("the runner's ", what, " has ", have, " entries, the step needs ", need)};
}

}  // namespace

std::int64_t decode_threshold(const Case& c) {
  return reorder_threshold({.backend_threshold = 1, .speculative_tokens = c.fa().draft_tokens});
}

Result<OrderedBatch> make_ordered_batch(const Case& c) {
  std::vector<StepRequest> step;
  for (const RequestSpec& r : c.requests)
    step.push_back({.scheduled = r.qo_len, .computed = r.kv_len - r.qo_len});
  const std::vector<std::size_t> order = decode_first_order(step, decode_threshold(c));
  Case ordered = c;
  for (std::size_t i = 0; i < order.size(); ++i) ordered.requests[i] = c.requests[order[i]];
  auto batch = make_batch(ordered);
  if (!batch) return batch.error();
  OrderedBatch out{std::move(*batch), {order.begin(), order.end()}};
  while (out.origin.size() < out.batch.requests.size())
    out.origin.push_back(static_cast<std::int64_t>(out.origin.size()));
  return out;
}

RunnerLimits largest(const RunnerLimits& a, const RunnerLimits& b) {
  return {.max_requests = std::max(a.max_requests, b.max_requests),
          .max_rows = std::max(a.max_rows, b.max_rows),
          .max_columns = std::max(a.max_columns, b.max_columns)};
}

RunnerLimits limits_of(const Batch& batch) {
  return {.max_requests = static_cast<std::int64_t>(batch.requests.size()),
          .max_rows = batch.rows().count(),
          .max_columns = batch.columns};
}

RunnerBuffers::RunnerBuffers(const RunnerLimits& limits, device::DeviceHeap& heap)
    : query_start_loc(heap, "query_start_loc", static_cast<std::size_t>(limits.max_requests) + 1),
      seq_lens(heap, "seq_lens", static_cast<std::size_t>(limits.max_requests)),
      block_table(heap, "block_table",
                  static_cast<std::size_t>(limits.max_requests * limits.max_columns)),
      slot_mapping(heap, "slot_mapping", static_cast<std::size_t>(limits.max_rows)),
      columns(limits.max_columns) {}

std::vector<std::int64_t> slot_mapping_of(const Batch& batch) {
  std::vector<std::int64_t> slots;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const auto [q, n] = batch.requests[r];
    for (std::int64_t i = 0; i < q; ++i)
      slots.push_back(n < q ? -1 : batch.slot(static_cast<std::int64_t>(r), n - q + i));
  }
  return slots;
}

std::vector<std::int32_t> table_rows_of(const Batch& batch, std::int64_t columns) {
  std::vector<std::int32_t> rows;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const std::int64_t blocks = ceil_div(batch.requests[r].kv_len, batch.block_size);
    for (std::int64_t j = 0; j < columns; ++j)
      rows.push_back(j < blocks ? batch.table().at(static_cast<std::int64_t>(r), j) : -1);
  }
  return rows;
}

Result<StepInput> stage_step(const Batch& batch, std::vector<bool> causal,
                             const RunnerBuffers& buffers, device::Stream& stream) {
  const RunnerLimits need = limits_of(batch);
  if (MaybeError bad = check_capacity("seq_lens", need.max_requests, buffers.seq_lens.size()))
    return *bad;
  if (MaybeError bad = check_capacity("slot_mapping", need.max_rows, buffers.slot_mapping.size()))
    return *bad;
  if (MaybeError bad = check_capacity("row of the block table", need.max_columns,
                                      static_cast<std::size_t>(buffers.columns)))
    return *bad;
  if (MaybeError bad = check_keys(batch)) return *bad;
  StepInput in;
  std::vector<std::int32_t> starts{0};
  std::vector<std::int32_t> lengths;
  for (const auto& [q, n] : batch.requests) {
    in.qo_lens.push_back(q);
    starts.push_back(starts.back() + static_cast<std::int32_t>(q));
    lengths.push_back(static_cast<std::int32_t>(n));
  }
  in.num_actual_tokens = batch.rows();
  in.causal = std::move(causal);
  in.query_start_loc =
      stage("query_start_loc", std::move(starts), buffers.query_start_loc.view(), stream);
  in.seq_lens = stage("seq_lens", std::move(lengths), buffers.seq_lens.view(), stream);
  in.block_table = stage("block_table", table_rows_of(batch, buffers.columns),
                         buffers.block_table.view(), stream);
  in.slot_mapping =
      stage("slot_mapping", slot_mapping_of(batch), buffers.slot_mapping.view(), stream);
  return in;
}

}  // namespace mla::fa
