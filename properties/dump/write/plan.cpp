#include "properties/dump/write/plan.hpp"

#include <nlohmann/json.hpp>

#include "properties/dump/found_plan.hpp"

namespace mla::dump {
namespace {

using nlohmann::ordered_json;
using plan::PlanBuffer;
using plan::PlannerVersion;

ordered_json shapes(const plan::BufferSizes& sizes) {
  return {{"work_metadata_ptrs", {sizes.work_meta_data}},
          {"work_indptr", {sizes.work_indptr}},
          {"work_info_set", {sizes.work_items, plan::kWorkItemWords}},
          {"reduce_indptr", {sizes.reduce_indptr}},
          {"reduce_final_map", {sizes.reduce_final_rows, 2}},
          {"reduce_partial_map", {sizes.reduce_partial_map}}};
}

ordered_json elements(const PlanBuffer& buffer) {
  ordered_json list = ordered_json::array();
  const std::int64_t used = buffer.used();
  for (std::int64_t i = 0; i < used; ++i)
    list.push_back(buffer.written(i) ? ordered_json(buffer.at(i)) : ordered_json(nullptr));
  return list;
}

}  // namespace

void write_planner_call(nlohmann::ordered_json& out, const plan::PlanInput& input) {
  out["arch"] = name(input.key.arch);
  out["num_cu"] = input.key.compute_units.count();
  out["seqlens_qo_indptr"] = input.qo_indptr;
  out["seqlens_kv_indptr"] = input.kv_indptr;
  out["kv_last_page_lens"] = input.last_page_len;
  out["num_heads_per_head_k"] = input.key.heads_per_kv_head.count();
  out["num_heads_k"] = input.key.kv_heads.count();
  out["is_causal"] = input.causal;
  out["page_size"] = input.page_size;
  out["kv_granularity"] = input.kv_granularity;
  out["max_seqlen_qo"] = input.key.max_qo_len;
  out["uni_seqlen_qo"] = input.uniform_qo_len;
  out["fast_mode"] = input.version == PlannerVersion::v1_2;
  out["topk"] = input.topk;
  out["max_split_per_batch"] = input.max_split_per_batch;
  out["intra_batch_mode"] = input.version == PlannerVersion::v1_0;
  out["is_cp_round_robin"] = input.cp_round_robin;
  out["dtype_q"] = name(input.key.dtype.q);
  out["dtype_kv"] = name(input.key.dtype.kv);
}

void write_plan(ordered_json& out, const plan::BufferSizes& sizes, const plan::Plan& plan) {
  out["buffer_sizes"] = shapes(sizes);
  const auto buffers = plan.all();
  for (std::size_t i = 0; i < buffers.size(); ++i) out[kPlanLists[i].key] = elements(*buffers[i]);
  for (const PlanBuffer* buffer : buffers)
    for (const auto& [index, value] : buffer->overruns())
      out["overruns"][buffer->name()].push_back(ordered_json::array({index, value}));
}

}  // namespace mla::dump
