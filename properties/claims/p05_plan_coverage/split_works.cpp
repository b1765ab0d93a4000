// P05 for steps without a plan: what the splits of each request read and write, and what the CPU
// backend makes of lists that give each request splits of its own.
#include <algorithm>

#include "core/say.hpp"
#include "cpu_backend/decode/split_route.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

std::string split_name(std::int64_t request, std::int64_t split) {
  return say("split ", split, " of ", request_name(request));
}

// Split z reads its request's pages from the one of its first key to the last, and partial rows lie
// [query row][split]. The only split of a request writes the output itself.
Footprint expected_footprint(const DecodeMetadata& md, std::int64_t r, std::int64_t z) {
  const auto i = static_cast<std::size_t>(r);
  const std::int64_t splits = md.shape.kv_splits;
  const RowRange rows{md.qo_indptr[i], md.qo_indptr[i + 1]};
  const std::int64_t first_key = z * md.shape.split_granularity;
  Footprint f{.work = r * splits + z,
              .slot = -1,
              .q_rows = rows,
              .kv_entries = {md.kv_indptr[i] + first_key / md.shape.page_size, md.kv_indptr[i + 1]},
              .partial_rows = {},
              .output_rows = {}};
  if (splits == 1) {
    f.output_rows = rows;
  } else if (rows.begin < rows.end) {
    f.partial_rows = {rows.begin * splits + z, (rows.end - 1) * splits + z + 1};
  }
  return f;
}

std::string ranges_of(const Footprint& f) {
  const auto range = [](RowRange r) { return say(r.begin, "..", r.end); };
  return say("work ", f.work, ", rows ", range(f.q_rows), ", entries ", range(f.kv_entries),
             ", partial rows ", range(f.partial_rows), ", output rows ", range(f.output_rows));
}

// `ran` is ordered by work, as the requests and their splits are.
std::optional<std::string> footprints_differ(const DecodeMetadata& md,
                                             const std::vector<Footprint>& ran) {
  std::size_t next = 0;
  for (std::int64_t r = 0; r < md.requests().count(); ++r) {
    const std::int64_t keys = md.kv_lens[static_cast<std::size_t>(r)];
    for (std::int64_t z = 0; z < md.shape.kv_splits && z * md.shape.split_granularity < keys; ++z) {
      if (next == ran.size()) return split_name(r, z) + " did not run";
      const Footprint& f = ran[next++];
      const Footprint want = expected_footprint(md, r, z);
      if (f.work != want.work || f.q_rows != want.q_rows || f.kv_entries != want.kv_entries ||
          f.partial_rows != want.partial_rows || f.output_rows != want.output_rows)
        return say(split_name(r, z), " touched ", ranges_of(f), "; expected ", ranges_of(want));
    }
  }
  return std::nullopt;
}

std::int64_t first_of_next_request(const DecodeMetadata& md, const std::vector<cpu::Task>& tasks) {
  const auto other = std::ranges::find_if(
      tasks, [&](const cpu::Task& task) { return task.work >= md.shape.kv_splits; });
  return other - tasks.begin();
}

// The tasks with as many splits for request 0 as `first`, and the shape's number for the others.
cpu::TaskList tasks_with(cpu::TaskInput input, std::int64_t first) {
  std::vector<std::int32_t> indptr{0, static_cast<std::int32_t>(first)};
  while (std::ssize(indptr) < input.metadata.requests().count() + 1)
    indptr.push_back(static_cast<std::int32_t>(indptr.back() + input.metadata.shape.kv_splits));
  input.splits_indptr = indptr;
  return cpu::split_tasks(input);
}

std::optional<std::string> own_splits_differ(const DecodeMetadata& md,
                                             const DecodeTensors& tensors) {
  const std::int64_t splits = md.shape.kv_splits;
  const cpu::TaskInput input{.metadata = md,
                             .cache = cpu::CacheView::of(tensors.cache),
                             .kernel_rows = md.rows().count(),
                             .partial_rows = splits == 1 ? 0 : md.rows().count() * splits};
  const cpu::TaskList plain = cpu::split_tasks(input);
  if (md.requests().count() == 0 || !plain.faults.empty()) return std::nullopt;
  const std::int64_t first = first_of_next_request(md, plain.tasks);
  const auto others = std::span(plain.tasks).subspan(static_cast<std::size_t>(first));
  for (const std::int64_t own : {splits, std::int64_t{1}, std::int64_t{0}, splits + 1}) {
    const cpu::TaskList list = tasks_with(input, own);
    const std::string where = say("with ", own, " splits for request 0 of at most ", splits, ": ");
    if (list.faults.empty() == (own > splits)) return say(where, list.faults.size(), " faults");
    std::vector<cpu::Task> want(plain.tasks.begin(), plain.tasks.begin() + first);
    if (own == 0 || own > splits) want.clear();
    if (own == 1 && !want.empty()) {
      want.resize(1);
      want[0].keys.stride = md.shape.split_granularity;  // it takes every tile
    }
    want.insert(want.end(), others.begin(), others.end());
    if (list.tasks != want) return where + "the tasks are others";
  }
  return std::nullopt;
}

}  // namespace

// A request is cut in splits, tile by tile in turn, and a split without keys does not run.
Outcome decode_splits(Subject& subject) {
  const DecodeMetadata& md = *subject.metadata();
  const ResolvedShape& shape = md.shape;
  std::int64_t expected = 0;
  for (const KernelRequest& k : kernel_requests(*subject.batch(), shape))
    expected += std::min(shape.kv_splits, ceil_div(k.kv_len, shape.split_granularity));
  const auto& ran = subject.result()->footprint;
  if (std::ssize(ran) != expected)
    return failed(
        say("the requests have ", expected, " splits with keys, of which ", ran.size(), " ran"));
  if (const auto why = footprints_differ(md, ran)) return failed(*why);
  if (const auto why = own_splits_differ(md, *subject.tensors())) return failed(*why);
  return passed();
}

}  // namespace mla::prop
