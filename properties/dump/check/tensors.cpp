#include "properties/dump/check/tensors.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/arch.hpp"
#include "core/say.hpp"
#include "properties/dump/check/elements.hpp"

namespace mla::dump {
namespace {

std::string shape_of(const io::RawArray& array) {
  std::string out;
  for (const auto n : array.shape) out += say(out.empty() ? "(" : ", ", n);
  return out + ")";
}

// Rows of `heads` heads of `last` elements that a tensor has; nothing if it has other rows.
std::optional<std::int64_t> rows_of(const io::RawArray& array, std::int64_t heads,
                                    std::int64_t last) {
  const auto& shape = array.shape;
  const std::int64_t elements = std::ssize(array.bytes) / std::max<std::int64_t>(array.width, 1);
  if (elements % (heads * last) != 0) return std::nullopt;
  const std::int64_t rows = elements / (heads * last);
  const bool in_order = shape.size() < 2 || shape[0] == rows || shape[0] == rows * heads;
  const bool of_heads = shape.size() != 3 || (shape[1] == heads && shape[2] == last);
  if (elements > 0 && !(in_order && of_heads)) return std::nullopt;
  return rows;
}

}  // namespace

ListFindings check_tensors(const DecodeDump& dump) {
  const plan::PlanInput& in = dump.planned.call.input;
  const Launch* launch = dump.readable_launch();
  const Heads planned = in.key.heads_per_kv_head * in.key.kv_heads.count();
  const std::int64_t heads =
      (launch != nullptr ? launch->heads.value_or(planned) : planned).count();
  const std::int64_t wanted = in.qo_indptr.back();
  const RowWidths& widths = dump.planned.cache.widths;
  ListFindings out;
  for (const auto& [key, last] :
       {std::pair("q", widths.key().count()), std::pair("out", widths.value().count()),
        std::pair("lse", std::int64_t{1})}) {
    const auto found = dump.tensors.find(key);
    if (found == dump.tensors.end()) continue;
    const auto rows = rows_of(found->second, heads, last);
    if (!rows)
      out.violations.push_back(say(key, " has shape ", shape_of(found->second),
                                   ": expected rows of ", heads, " heads",
                                   last > 1 ? say(" of ", last) : ""));
    else if (*rows < wanted)
      out.violations.push_back(
          say(key, " has ", *rows, " rows, seqlens_qo_indptr is for ", wanted));
    else if (*rows > wanted && out.notes.empty())
      out.notes.push_back(say(key, " has ", *rows, " rows, seqlens_qo_indptr is for ", wanted,
                              ": rows ", wanted, "..", *rows,
                              " are a graph's padding, or no work computes them"));
  }
  if (const std::int64_t row = dump.planned.cache.packed_row; row > 0)
    out.notes.push_back(say("kv_cache has packed rows of ", row, " bytes (", packed_name(row),
                            "): lists and plan are judged, and the rows are not read"));
  return out;
}

std::vector<std::string> check_dtypes(const DecodeDump& dump) {
  const Arch arch = dump.planned.call.input.key.arch;
  const DtypePair planned = dump.planned.call.input.key.dtype;
  const Launch* launch = dump.readable_launch();
  const DtypePair of = launch == nullptr ? planned
                                         : DtypePair{launch->dtype_q.value_or(planned.q),
                                                     launch->dtype_kv.value_or(planned.kv)};
  std::vector<std::string> out;
  const auto look = [&](const char* key, const char* said, Dtype dtype) {
    const auto found = dump.tensors.find(key);
    if (found == dump.tensors.end()) return;
    const MaybeError other = check_elements(key, found->second, element_type(dtype, arch));
    if (other) out.push_back(say(other->message, "; ", said, " is ", name(dtype)));
  };
  look("q", "dtype_q", of.q);
  if (dump.planned.cache.packed_row == 0) look("kv_cache", "dtype_kv", of.kv);
  return out;
}

}  // namespace mla::dump
