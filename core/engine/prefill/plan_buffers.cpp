#include "core/engine/prefill/plan_buffers.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/engine/prefill/prefill_shape.hpp"
#include "core/say.hpp"

namespace mla::prefill {
namespace {

std::vector<std::int32_t> words_of(const plan::PlanBuffer& buffer) {
  return {buffer.data().begin(), buffer.data().end()};
}

struct Copy {
  const char* name;
  const std::vector<std::int32_t>& from;
  const device::DeviceBuffer<std::int32_t>& to;
};

}  // namespace

HostPlan host_plan(std::vector<std::int32_t> qo_indptr, std::vector<std::int32_t> kv_indptr,
                   const plan::Plan& plan) {
  HostPlan host{.qo_indptr = std::move(qo_indptr),
                .kv_indptr = std::move(kv_indptr),
                .work_indptr = words_of(plan.work_indptr),
                .work_info = words_of(plan.work_info),
                .reduce_indptr = words_of(plan.reduce_indptr),
                .reduce_final_map = words_of(plan.reduce_final_map),
                .reduce_partial_map = words_of(plan.reduce_partial_map)};
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
  work_indptr = make("work_indptr", sizes.work_indptr);
  work_info = make("work_info_set", sizes.work_items * plan::kWorkItemWords);
  reduce_indptr = make("reduce_indptr", sizes.reduce_indptr);
  reduce_final_map = make("reduce_final_map", sizes.reduce_final_rows * 2);
  reduce_partial_map = make("reduce_partial_map", sizes.reduce_partial_map);
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
  const Copy copies[] = {
      {"qo_indptr", plan.qo_indptr, buffers.qo_indptr},
      {"kv_indptr", plan.kv_indptr, buffers.kv_indptr},
      {"work_indptr", plan.work_indptr, buffers.work_indptr},
      {"work_info_set", plan.work_info, buffers.work_info},
      {"reduce_indptr", plan.reduce_indptr, buffers.reduce_indptr},
      {"reduce_final_map", plan.reduce_final_map, buffers.reduce_final_map},
      {"reduce_partial_map", plan.reduce_partial_map, buffers.reduce_partial_map}};
  for (const Copy& copy : copies)
    if (copy.from.size() > copy.to.size())
      return Error{
          ErrorCode::overrun,
          say(copy.name, " has ", copy.to.size(), " elements, ", copy.from.size(), " are needed"),
          "BUG-079"};
  if (static_cast<std::size_t>(plan.tokens) > identity.size())
    return Error{ErrorCode::overrun,
                 say("kv_indices has ", identity.size(), " elements, ", plan.tokens, " are needed"),
                 "BUG-079"};
  for (const Copy& copy : copies)
    if (!copy.from.empty())
      stream.copy_to_device<std::int32_t>(copy.name, copy.from, copy.to.view());

  const auto live = [](const auto& buffer, const auto& words) {
    return buffer.view().subview(0, words.size());
  };
  PlanFields fields;
  fields.qo_indptr = live(buffers.qo_indptr, plan.qo_indptr);
  fields.kv_indptr =
      plan.kv_indptr.empty() ? fields.qo_indptr : live(buffers.kv_indptr, plan.kv_indptr);
  fields.kv_indices = identity.subview(0, static_cast<std::size_t>(plan.tokens));
  fields.work_indptr = buffers.work_indptr.view();
  fields.work_info_set = buffers.work_info.view();
  fields.reduce_indptr = buffers.reduce_indptr.view();
  fields.reduce_final_map = buffers.reduce_final_map.view();
  fields.reduce_partial_map = buffers.reduce_partial_map.view();
  fields.max_q_len = plan.max_q_len;
  fields.num_partial_tiles = plan.num_partial_tiles;
  return fields;
}

}  // namespace mla::prefill
