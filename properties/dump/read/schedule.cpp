#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/dump/read/parts.hpp"

namespace mla::dump {
namespace {

using files::Fields;

constexpr const char* kLengths = "scheduler_seq_lens";
constexpr const char* kRows = "scheduler_query_lens";
constexpr const char* kTable = "scheduler_block_table";
constexpr const char* kBlock = "scheduler_block_size";

void reject_negative(Fields& fields, const char* key, const Words& words) {
  const auto below = std::find_if(words.begin(), words.end(), [](auto word) { return word < 0; });
  if (below != words.end())
    fields.reject(key, say("has ", *below, " for request ", below - words.begin(),
                           ": a length must not be negative"));
}

}  // namespace

Result<std::optional<Schedule>> read_schedule(const nlohmann::json& object) {
  Fields fields(object);
  if (!fields.has(kLengths)) {
    for (const char* key : {kRows, kTable, kBlock})
      if (fields.has(key)) fields.reject(key, say("says nothing without '", kLengths, "'"));
    if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error()};
    return std::optional<Schedule>();
  }
  Schedule out;
  out.seq_lens = fields.words(kLengths);
  reject_negative(fields, kLengths, out.seq_lens);
  if (fields.has(kRows)) {
    out.query_lens = fields.words(kRows);
    reject_negative(fields, kRows, out.query_lens);
    if (out.query_lens.size() != out.seq_lens.size())
      fields.reject(kRows, say("has ", out.query_lens.size(), " entries, ", kLengths, " has ",
                               out.seq_lens.size()));
  }
  if (fields.has(kTable)) {
    out.block_table = fields.words(kTable);
    if (out.seq_lens.empty() || out.block_table.size() % out.seq_lens.size() != 0)
      fields.reject(kTable, say("has ", out.block_table.size(), " entries, which are no rows of ",
                                out.seq_lens.size(), " requests"));
  }
  out.block_size = fields.number_or(kBlock, 1);
  if (out.block_size < 1) fields.reject(kBlock, say("is ", out.block_size, ": expected 1 or more"));
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error()};
  return std::optional(std::move(out));
}

}  // namespace mla::dump
