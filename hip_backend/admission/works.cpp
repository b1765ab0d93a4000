#include "hip_backend/admission/works.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/say.hpp"

namespace mla::hip {

using plan::WorkItem;

std::string range_text(std::int64_t begin, std::int64_t end) {
  return say("[", begin, ", ", end, ")");
}

WorkAdmission::WorkAdmission(const AdmissionInput& input, std::int64_t partial_rows, Admission& out)
    : input_(input),
      out_(out),
      owner_(static_cast<std::size_t>(input.kernel_rows), -1),
      partial_owner_(static_cast<std::size_t>(partial_rows), -1) {}

void WorkAdmission::fault(std::int64_t work, std::int64_t slot, const std::string& what) {
  out_.faults.push_back({say("work ", work, " of slot ", slot, ": ", what), work, slot});
}

void WorkAdmission::admit_work(std::int64_t work, std::int64_t slot) {
  const DecodeMetadata& md = input_.metadata;
  const WorkItem item = md.plan->work(work);
  const std::int64_t folded = md.requests().count() * input_.fold;
  if (item.batch < 0 || item.batch >= folded)
    return fault(work, slot, say("request ", item.batch, " is not in ", range_text(0, folded)));
  if (item.partial_row < -1)
    return fault(work, slot, say("partial row ", item.partial_row, " is neither -1 nor a row"));
  if (item.kv_end < item.kv_begin)
    fault(work, slot,
          say("its pages end at ", item.kv_end, ", before they begin at ", item.kv_begin));
  const std::int64_t request = item.batch / input_.fold;
  const std::int64_t page_size = md.shape.page_size;
  const std::int64_t last = md.last_page_len[static_cast<std::size_t>(request)];
  if (last < 1 || last > page_size)
    return fault(
        work, slot,
        say("last page length ", last, " of request ", request, " is not in [1, ", page_size, "]"));
  const std::int64_t pages = std::max<std::int64_t>(std::int64_t{item.kv_end} - item.kv_begin, 0);
  const bool whole_last = item.kv_offset != 0 || pages == 0;
  const std::int64_t keys = pages * page_size - (whole_last ? 0 : page_size - last);
  admit({.work = work,
         .slot = slot,
         .q = {item.q_begin, item.q_end},
         .first_entry = item.kv_begin,
         .begin = 0,
         .end = keys,
         .run = std::max<std::int64_t>(keys, 1),
         .stride = std::max<std::int64_t>(keys, 1),
         .partial_row = item.partial_row});
}

void WorkAdmission::admit_request(std::int64_t request) {
  const DecodeMetadata& md = input_.metadata;
  const ResolvedShape& shape = md.shape;
  const auto r = static_cast<std::size_t>(request);
  const std::int64_t pages = std::int64_t{md.kv_indptr[r + 1]} - md.kv_indptr[r];
  const std::int64_t last = md.last_page_len[r];
  const std::string who = say("request ", request, ": ");
  if (pages < 0) return out_.faults.push_back({say(who, pages, " pages"), -1, -1});
  if (last < 1 || last > shape.page_size)
    return out_.faults.push_back(
        {say(who, "last page length ", last, " is not in [1, ", shape.page_size, "]"), -1, -1});
  const std::int64_t keys = pages == 0 ? 0 : (pages - 1) * shape.page_size + last;
  const std::int64_t q_begin = md.qo_indptr[r];
  for (std::int64_t z = 0; z < shape.kv_splits && keys > z * shape.split_granularity; ++z)
    admit({.work = request * shape.kv_splits + z,
           .slot = -1,
           .q = {q_begin, md.qo_indptr[r + 1]},
           .first_entry = md.kv_indptr[r],
           .begin = z * shape.split_granularity,
           .end = keys,
           .run = shape.split_granularity,
           .stride = shape.split_granularity * shape.kv_splits,
           .partial_row = shape.kv_splits == 1 ? -1 : q_begin * shape.kv_splits + z,
           .partial_stride = shape.kv_splits});
}

std::string WorkAdmission::check_rows(const Piece& p) const {
  if (p.q.begin < 0 || p.q.end < p.q.begin || p.q.end > rows())
    return "query rows " + range_text(p.q.begin, p.q.end) + " are not in " + range_text(0, rows());
  if (p.partial_row < 0 || p.q.begin == p.q.end) return {};
  const std::int64_t last = p.partial_of(p.q.end - 1);
  if (last < partial_rows()) return {};
  return "partial rows " + range_text(p.partial_row, last + 1) + " are not in " +
         range_text(0, partial_rows());
}

std::string WorkAdmission::check_keys(const Piece& p) const {
  if (p.begin >= p.end) return {};
  const DecodeMetadata& md = input_.metadata;
  const std::int64_t page_size = md.shape.page_size;
  const auto entries = static_cast<std::int64_t>(md.kv_indices.size());
  const std::int64_t first = p.first_entry + p.begin / page_size;
  const std::int64_t last = p.first_entry + (p.end - 1) / page_size;
  if (first < 0 || last >= entries)
    return "entries " + range_text(first, last + 1) + " are not in kv_indices " +
           range_text(0, entries);
  const std::int64_t backed_end = input_.cache.first_slot + input_.cache.slots;
  for (std::int64_t start = p.begin; start < p.end; start += p.stride) {
    for (std::int64_t at = start; at < std::min(start + p.run, p.end); ++at) {
      const std::int64_t entry = p.first_entry + at / page_size;
      const std::int64_t page = md.kv_indices[static_cast<std::size_t>(entry)];
      const std::int64_t slot = page * page_size + at % page_size;
      if (slot < input_.cache.first_slot || slot >= backed_end)
        return say("entry ", entry, " of kv_indices leads to cache slot ", slot,
                   ", which is not in ", range_text(input_.cache.first_slot, backed_end));
    }
  }
  return {};
}

std::string WorkAdmission::claim(const Piece& p) {
  const bool direct = p.partial_row < 0;
  std::vector<std::int64_t>& owners = direct ? owner_ : partial_owner_;
  const auto index = [&](std::int64_t row) {
    return static_cast<std::size_t>(direct ? row : p.partial_of(row));
  };
  for (std::int64_t row = p.q.begin; row < p.q.end; ++row)
    if (owners[index(row)] >= 0)
      return say(direct ? "output row " : "partial row ", index(row),
                 " is already written by work ", owners[index(row)]);
  for (std::int64_t row = p.q.begin; row < p.q.end; ++row) owners[index(row)] = p.work;
  return {};
}

void WorkAdmission::record(const Piece& p) {
  Footprint f{.work = p.work,
              .slot = p.slot,
              .q_rows = p.q,
              .kv_entries = {},
              .partial_rows = {},
              .output_rows = {}};
  const std::int64_t page_size = input_.metadata.shape.page_size;
  if (p.begin < p.end)
    f.kv_entries = {p.first_entry + p.begin / page_size,
                    p.first_entry + (p.end - 1) / page_size + 1};
  if (p.partial_row < 0) {
    f.output_rows = p.q;
  } else if (p.q.begin < p.q.end) {
    f.partial_rows = {p.partial_row, p.partial_of(p.q.end - 1) + 1};
    out_.partial_rows = std::max(out_.partial_rows, f.partial_rows.end);
  }
  out_.footprint.push_back(f);
  out_.longest = std::max(out_.longest, p.q.end - p.q.begin);
  out_.skip[static_cast<std::size_t>(p.work)] = 0;
}

void WorkAdmission::admit(const Piece& piece) {
  std::string bad = check_rows(piece);
  if (bad.empty()) bad = check_keys(piece);
  if (bad.empty()) bad = claim(piece);
  if (!bad.empty()) return fault(piece.work, piece.slot, bad);
  record(piece);
}

}  // namespace mla::hip
