#include "properties/app/plan_table.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/say.hpp"
#include "properties/app/table_text.hpp"

namespace mla::app {
namespace {

std::string kernel_line(const ResolvedShape& s) {
  const KernelEntry& k = s.kernel;
  std::string rows = num(k.min_qo_len);
  if (k.max_qo_len == kAnyQoLen)
    rows += " or more";
  else if (k.max_qo_len > k.min_qo_len)
    rows += " to " + num(k.max_qo_len);
  return say(k.label, ": ", rows, " query rows; ",
             k.masks ? "masks by itself" : "only kv_end limits a row", "; ",
             k.lse ? "can return" : "returns no", " final LSE",
             s.route == Route::split && s.final_lse ? ", the merge does" : "");
}

std::string folding_line(const ResolvedShape& s) {
  const std::string tile =
      "; " + num(s.plan.rows_per_workgroup) + " packed rows a workgroup" +
      (s.plan.query_split ? ", a request may need several tiles" : ", one tile a request");
  if (s.plan.fold_ratio == 1)
    return "none: the kernel takes " + num(s.row_heads().count()) + " heads" + tile;
  return "every request becomes " + num(s.plan.fold_ratio) + " planning requests of " +
         num(s.plan.plan_heads.count()) + " heads" + tile;
}

std::string planner_line(const DecodeMetadata& md) {
  const ResolvedShape& s = md.shape;
  if (s.planner == plan::PlannerVersion::v1_0) return "v1.0";
  if (s.planner == plan::PlannerVersion::v1_1) return "v1.1";
  const plan::PlanInput input = plan_input_of(md, {});
  const bool asked = s.planner_kernel != plan::V12Kernel::automatic;
  const plan::V12Kernel kernel = asked ? s.planner_kernel : plan::choose_v12_kernel(input, s.plan);
  return say("v1.2, ", kernel == plan::V12Kernel::serial ? "serial" : "parallel", " kernel (",
             asked ? "as the case asks" : "as the original chooses", ")");
}

std::string keyless_line(const DecodeMetadata& metadata) {
  std::string rows;
  for (const RowRange& r : metadata.keyless_rows) rows += " " + from_to(r.begin, r.end);
  return "rows" + rows + ": output 0 and LSE -inf, written by the launcher";
}

std::string split_lines(const ResolvedShape& s) {
  return row("splits", num(s.kv_splits) + " of every request, tiles of " +
                           num(s.split_granularity) + " keys; merged by stage 2");
}

std::string size_row(const plan::PlanBuffer& b, std::int64_t words) {
  char text[120];
  const std::string shape = words == 1 ? num(b.size()) : num(b.size() / words) + " x " + num(words);
  std::snprintf(text, sizeof text, "  %-20s %14s %10lld\n", std::string(b.name()).c_str(),
                shape.c_str(), static_cast<long long>(b.used()));
  return text;
}

std::string work_row(std::int64_t slot, std::int64_t index, const plan::WorkItem& w) {
  char text[160];
  const std::string target =
      w.partial_row < 0 ? "output"
                        : "partial " + from_to(w.partial_row, w.partial_row + w.q_end - w.q_begin);
  std::snprintf(text, sizeof text, "  %4lld %6lld %7d  %-13s %-17s %9d  %s\n",
                static_cast<long long>(slot), static_cast<long long>(index), w.batch,
                from_to(w.q_begin, w.q_end).c_str(), from_to(w.kv_begin, w.kv_end).c_str(),
                w.kv_offset, target.c_str());
  return text;
}

std::string works_text(const plan::Plan& plan) {
  std::string out;
  std::int64_t busy = 0;
  const std::int64_t slots = plan.work_indptr.size() - 1;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t begin = plan.work_indptr.at(slot);
    const std::int64_t end = std::min<std::int64_t>(plan.work_indptr.at(slot + 1), plan.works());
    busy += end > begin ? 1 : 0;
    for (std::int64_t w = begin; w < end; ++w) out += work_row(slot, w, plan.work(w));
  }
  return "\nworks: " + num(plan.works()) + " on " + num(busy) + " of " + num(slots) + " slots\n" +
         "  slot   work request  rows          pages             kv_offset  writes\n" + out;
}

std::string merge_row(const plan::Plan& plan, std::int64_t tile) {
  const std::int64_t begin = plan.reduce_indptr.at(tile);
  const std::int64_t end = plan.reduce_indptr.at(tile + 1);
  if (end <= begin) return {};
  std::string out =
      "  tile " + num(tile) + ", rows " +
      from_to(plan.reduce_final_map.at(tile * 2), plan.reduce_final_map.at(tile * 2 + 1)) +
      " <- partial rows from";
  for (std::int64_t i = begin; i < end; ++i) out += " " + num(plan.reduce_partial_map.at(i));
  return out + "\n";
}

std::string merges_text(const plan::Plan& plan) {
  std::string out;
  std::int64_t split = 0;
  const std::int64_t tiles = plan.reduce_indptr.size() - 1;
  for (std::int64_t tile = 0; tile < tiles && plan.reduce_indptr.written(tile + 1); ++tile) {
    const std::string line = merge_row(plan, tile);
    split += line.empty() ? 0 : 1;
    out += line;
  }
  return "\nreduce: " + num(split) + " of " + num(tiles) + " tiles are merged from pieces\n" + out;
}

}  // namespace

std::string decisions_text(const Case& c, const Batch& batch, const DecodeMetadata& metadata) {
  const ResolvedShape& s = metadata.shape;
  std::string out = row("case", format_case(c)) + row("batch", batch_line(batch));
  out += row("device", say(name(s.arch), ", ", s.compute_units.count(), " compute units"));
  out += row("dtype",
             say(name(s.dtype.q), " query, ", name(s.dtype.kv), " cache; fp8 is ", name(s.fp8)));
  out += row("paging", "blocks of " + num(s.block_size) + " tokens, pages of " + num(s.page_size) +
                           ": " + num(s.block_size / s.page_size) + " pages a block");
  if (s.widths != kBuiltIn)
    out += row("widths", say("rows of ", text_of(s.widths), ": keys of ", s.widths.key().count(),
                             " elements, values of ", s.widths.value().count()));
  out += row("heads", heads_line(s.heads));
  out += row("route", say(name(s.route), ": ", s.route_reason));
  out += row("kernel", kernel_line(s));
  const std::string uniform =
      s.uniform_qo_len > 0 ? num(s.uniform_qo_len) + " in every request" : "ragged";
  out += row("rows", "at most " + num(s.max_qo_len) + " a kernel request, " + uniform + ", " +
                         (s.causal ? "causal" : "not causal"));
  if (s.leading_rows > 0)
    out += row("raised", num(s.leading_rows) + " zero rows in front of the " +
                             num(s.max_qo_len - s.leading_rows) + " of each request");
  if (!metadata.keyless_rows.empty()) out += row("no keys", keyless_line(metadata));
  for (const std::string& note : s.notes) out += row("note", note);
  if (s.route == Route::split) return out + split_lines(s);
  out += row("folding", folding_line(s));
  out += row("planner", planner_line(metadata));
  return out + row("granularity",
                   num(s.granularity) + " pages a block of work; " +
                       (s.max_split < 0 ? "no split cap" : "split cap " + num(s.max_split)));
}

std::string plan_text(const plan::Plan& plan) {
  std::string out = "\nbuffers                         int32    written\n";
  out += size_row(plan.work_indptr, 1) + size_row(plan.work_info, plan::kWorkItemWords) +
         size_row(plan.reduce_indptr, 1) + size_row(plan.reduce_final_map, 2) +
         size_row(plan.reduce_partial_map, 1);
  out += "  work_meta_data             2 x uint64: the addresses of the first two\n";
  return out + works_text(plan) + merges_text(plan);
}

std::string plan_text(const DecodeMetadata& metadata) {
  return metadata.plan ? plan_text(*metadata.plan) : std::string();
}

}  // namespace mla::app
