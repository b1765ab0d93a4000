#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "properties/dump/read/parts.hpp"

namespace mla::dump {
namespace {

using files::Fields;

constexpr std::string_view kOthers[] = {
    // What we write with a plan.
    "name", "format", "note", "decisions", "context_chunks", "buffer_sizes", "work_indptr",
    "work_info", "reduce_indptr", "reduce_final_map", "reduce_partial_map", "overruns",
    // Golden vectors.
    "expected"};

PrefillCall read_arguments(Fields& fields) {
  PrefillCall call;
  plan::PsInput& in = call.input;
  call.arch = read_arch(fields);
  in.compute_units = read_compute_units(fields);
  PrefillLists lists;
  lists.qo_indptr = fields.words("seqlens_qo_indptr");
  lists.kv_indptr = fields.words("pages_kv_indptr");
  lists.context_lens = fields.words("context_lens");
  call.refer_to(std::move(lists));
  in.kv_heads = read_heads(fields, "num_heads_k");
  call.heads = in.kv_heads * read_heads(fields, "gqa_ratio").count();
  in.qhead_granularity = fields.number_or("qhead_granularity", 1);
  in.qlen_granularity = fields.number_or("qlen_granularity", 256);
  in.kvlen_granularity = fields.number_or("kvlen_granularity", 16);
  in.block_size = fields.number_or("block_size", 16);
  in.causal = fields.truth_or("is_causal", true);
  return call;
}

void require_sizes(const plan::PsInput& in, Fields& fields) {
  for (const auto& [key, value] : {std::pair("num_cu", in.compute_units.count()),
                                   std::pair("qhead_granularity", in.qhead_granularity),
                                   std::pair("qlen_granularity", in.qlen_granularity),
                                   std::pair("kvlen_granularity", in.kvlen_granularity),
                                   std::pair("block_size", in.block_size)})
    if (value < 1) fields.reject(key, say("is ", value, ": it must be at least 1"));
  const std::string granularity = say("is ", in.kvlen_granularity, ": it must be a ");
  if (!is_power_of_two(in.kvlen_granularity))
    fields.reject("kvlen_granularity", granularity + "power of two");
  else if (in.block_size > 0 && in.kvlen_granularity % in.block_size != 0)
    fields.reject("kvlen_granularity",
                  say(granularity, "multiple of block_size, which is ", in.block_size));
}

Result<PrefillCall> checked(PrefillCall call, const Fields& fields) {
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error()};
  return call;
}

}  // namespace

Result<PrefillCall> read_prefill_call(const nlohmann::json& object) {
  Fields fields(object);
  PrefillCall call = read_arguments(fields);
  fields.reject_unknown(keys_beside_a_call());
  return checked(std::move(call), fields);
}

Result<PrefillCall> read_planned_prefill_call(const nlohmann::json& object) {
  Fields fields(object);
  PrefillCall call = read_arguments(fields);
  require_sizes(call.input, fields);
  call.input.fidelity = plan::Fidelity::as_aiter;
  fields.reject_unknown(kOthers);
  return checked(std::move(call), fields);
}

}  // namespace mla::dump
