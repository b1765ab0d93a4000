#include "properties/dump/read/parts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/say.hpp"
#include "core/suggest.hpp"

namespace mla::dump {
namespace {

using files::Fields;
using files::shown;
using nlohmann::json;

constexpr std::string_view kPrefix = "launch_";

std::optional<Dtype> dtype(Fields& fields, const char* key) {
  return fields.has(key) ? std::optional(read_dtype(fields, key)) : std::nullopt;
}

void read_arguments(Fields& fields, Launch& out) {
  constexpr const char* kPages = "launch_page_size";
  out.max_qo_len = fields.if_given("launch_max_seqlen_q", &Fields::number);
  if (fields.has("launch_num_heads")) out.heads = read_heads(fields, "launch_num_heads");
  out.dtype_q = dtype(fields, "launch_dtype_q");
  out.dtype_kv = dtype(fields, "launch_dtype_kv");
  out.page_size = fields.if_given(kPages, &Fields::number);
  if (out.page_size && !is_power_of_two(*out.page_size))
    fields.reject(kPages, say("is ", *out.page_size, ": it must be a power of two"));
  out.causal = fields.if_given("launch_causal", &Fields::truth);
  const std::int64_t ranks = fields.number_or("launch_cp_world_size", 1);
  const std::int64_t rank = fields.number_or("launch_cp_rank", 0);
  if (ranks > 1 && (rank < 0 || rank >= ranks))
    fields.reject("launch_cp_rank", say("is ", rank, " of ", ranks, " ranks"));
  out.num_kv_splits = fields.if_given("launch_num_kv_splits", &Fields::number);
  out.persistent = fields.if_given("launch_persistent", &Fields::truth);
  out.total_kv = fields.if_given("launch_total_kv", &Fields::number);
}

void read_lists(Fields& fields, Launch& out) {
  constexpr const char* kTotal = "launch_total_kv";
  out.qo_indptr = fields.if_given("launch_seqlens_qo_indptr", &Fields::words);
  out.kv_indptr = fields.if_given("launch_seqlens_kv_indptr", &Fields::words);
  out.last_page_len = fields.if_given("launch_kv_last_page_lens", &Fields::words);
  out.kv_indices = fields.if_given("launch_kv_indices", &Fields::words);
  out.num_kv_splits_indptr = fields.if_given("launch_num_kv_splits_indptr", &Fields::words);
  if (out.total_kv.value_or(0) < 0)
    fields.reject(kTotal, say("is ", *out.total_kv, ": expected at least 0"));
}

std::optional<std::uint64_t> address(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) return std::nullopt;
  return value.get<std::uint64_t>();
}

// Nothing where the dump does not say where the two words lead.
Result<std::optional<Addresses>> read_addresses(const json& addresses) {
  const auto bad = [](const std::string& why) {
    return Error{ErrorCode::usage, "key 'launch_addresses' " + why};
  };
  if (!addresses.is_object()) return bad("is " + shown(addresses) + ": it must be an object");
  static constexpr std::string_view kKnown[] = {"work_indptr", "work_info", "work_meta_data"};
  for (const auto& [key, value] : addresses.items())
    if (std::ranges::find(kKnown, key) == std::end(kKnown))
      return bad("has '" + key + "', which is unknown" + did_you_mean(key, kKnown));
  const auto leads = addresses.find("work_meta_data");
  if (leads == addresses.end()) return std::optional<Addresses>();
  if (!leads->is_array() || leads->size() != 2 || !address((*leads)[0]) || !address((*leads)[1]))
    return bad("has work_meta_data " + shown(*leads) + ": it must be two addresses");
  Addresses out;
  for (std::size_t i = 0; i < 2; ++i) {
    out.leads[i] = *address((*leads)[i]);
    const std::string buffer(kKnown[i]);
    const auto found = addresses.find(buffer);
    if (found == addresses.end()) continue;
    out.buffers[i] = address(*found);
    if (!out.buffers[i]) return bad("has " + shown(*found) + " for " + buffer);
  }
  return std::optional(out);
}

}  // namespace

bool has_launch(const json& object) {
  for (const auto& [key, value] : object.items())
    if (key.starts_with(kPrefix)) return true;
  return false;
}

Result<Launch> read_launch(const json& object, const std::optional<Result<FoundPlan>>& plan) {
  Launch out;
  Fields fields(object);
  read_arguments(fields, out);
  read_lists(fields, out);
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error()};
  if (plan) {
    if (!plan->ok()) return plan->error();
    auto found = read_launched_plan(object, plan->value());
    if (!found) {
      Error error = found.error();
      error.message = "as the kernel found it, " + error.message;
      return error;
    }
    out.plan = std::move(*found);
  }
  const auto addresses = object.find("launch_addresses");
  if (addresses == object.end()) return out;
  const auto read = read_addresses(*addresses);
  if (!read) return read.error();
  out.addresses = *read;
  return out;
}

}  // namespace mla::dump
