#include "core/engine/prefill/plan_buffers.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/engine/prefill/prefill_shape.hpp"
#include "core/say.hpp"

namespace mla::prefill {
HostPlan host_plan(std::vector<std::int32_t> qo_indptr, std::vector<std::int32_t> kv_indptr,
                   const plan::Plan& plan) {
  HostPlan host{lists_of(plan,
                         [](const char*, const plan::PlanBuffer& buffer) {
                           return std::vector(buffer.data().begin(), buffer.data().end());
                         }),
                std::move(qo_indptr), std::move(kv_indptr)};
  host.tokens = (host.kv_indptr.empty() ? host.qo_indptr : host.kv_indptr).back();
  for (std::size_t r = 0; r + 1 < host.qo_indptr.size(); ++r)
    host.max_q_len =
        std::max<std::int64_t>(host.max_q_len, host.qo_indptr[r + 1] - host.qo_indptr[r]);
  host.num_partial_tiles = host.reduce_indptr.back();
  return host;
}

PlanBuffers::PlanBuffers(device::DeviceHeap& heap, const std::string& name,
                         const plan::BufferSizes& sizes, std::int64_t requests) {
  const auto make = [&](const char* field, std::int64_t size) {
    return device::DeviceBuffer<std::int32_t>(heap, name + " " + field,
                                              static_cast<std::size_t>(size));
  };
  qo_indptr = make("qo_indptr", requests + 1);
  kv_indptr = make("kv_indptr", requests + 1);
  lists() = lists_of(words_of(sizes), make);
}

device::DeviceBuffer<std::int32_t> make_identity(device::DeviceHeap& heap, device::Stream& stream,
                                                 std::int64_t tokens) {
  device::DeviceBuffer<std::int32_t> buffer(heap, "kv_indices", static_cast<std::size_t>(tokens));
  stream.launch("arange", [view = buffer.view()](const device::DeviceAccess& access) {
    const auto words = view.on(access);
    std::iota(words.begin(), words.end(), 0);
  });
  return buffer;
}

Result<PlanFields> copy_plan(const HostPlan& plan, const PlanBuffers& buffers, Words identity,
                             device::Stream& stream) {
  const auto each_list = [&](const auto& f) {
    f("qo_indptr", plan.qo_indptr, buffers.qo_indptr);
    f("kv_indptr", plan.kv_indptr, buffers.kv_indptr);
    for_each_list(f, plan, buffers);
  };
  MaybeError bad;
  each_list([&bad](const char* name, const auto& from, const auto& to) {
    if (!bad && from.size() > to.size())
      bad = Error{ErrorCode::overrun,
                  say(name, " has ", to.size(), " elements, ", from.size(), " are needed"),
                  "BUG-079"};
  });
  if (bad) return *bad;
  if (static_cast<std::size_t>(plan.tokens) > identity.size())
    return Error{ErrorCode::overrun,
                 say("kv_indices has ", identity.size(), " elements, ", plan.tokens, " are needed"),
                 "BUG-079"};
  each_list([&stream](const char* name, const auto& from, const auto& to) {
    if (!from.empty()) stream.copy_to_device<std::int32_t>(name, from, to.view());
  });

  const auto live = [](const auto& buffer, const auto& words) {
    return buffer.view().subview(0, words.size());
  };
  PlanFields fields;
  fields.lists() = lists_of(buffers, [](const char*, const auto& buffer) { return buffer.view(); });
  fields.qo_indptr = live(buffers.qo_indptr, plan.qo_indptr);
  fields.kv_indptr =
      plan.kv_indptr.empty() ? fields.qo_indptr : live(buffers.kv_indptr, plan.kv_indptr);
  fields.kv_indices = identity.subview(0, static_cast<std::size_t>(plan.tokens));
  fields.max_q_len = plan.max_q_len;
  fields.num_partial_tiles = plan.num_partial_tiles;
  return fields;
}

}  // namespace mla::prefill
