// P24 for ranks that share a context key by key: what a row sees of a rank's keys (the masks of
// cpu_backend/decode/task.hpp, which only such calls reach).
#include "core/engine/row_map.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/work_list.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

// Key j of a request is key j / ranks of rank j % ranks. Counted one by one.
std::optional<std::string> masks_differ(Random& random) {
  const std::int64_t keys = random.below(80);
  const std::int64_t rows = random.between(1, 8);
  const std::int64_t ranks = random.between(1, 8);
  const std::int64_t rank = random.below(ranks);
  const std::int64_t own = (keys + ranks - 1 - rank) / ranks;
  const std::int64_t before = random.below(own + 1);
  const std::int64_t count = random.below(own - before + 1);
  const std::vector<std::int32_t> global{7, static_cast<std::int32_t>(7 + keys)};
  cpu::Task task{.q_begin = 3,
                 .q_end = 3 + rows,
                 .keys = {.begin = 0, .end = count, .run = count, .stride = count > 0 ? count : 1}};
  cpu::limit_rows(task, {.global_kv_indptr = global, .ranks = ranks, .rank = rank}, 0, own, before,
                  rows - 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t sees = 0;
    for (std::int64_t i = before; i < before + count; ++i)
      sees += i * ranks + rank < keys - rows + 1 + row ? 1 : 0;
    if (task.visible(3 + row) != sees)
      return say("row ", row, " of ", rows, " sees ", sees, " of keys ", before, "..",
                 before + count, " of rank ", rank, " of ", ranks, " (", keys,
                 " keys in all), and is said to see ", task.visible(3 + row));
  }
  return std::nullopt;
}

// One rank is no rank: each row sees the same keys of each work.
std::optional<std::string> one_rank_differs(const DecodeMetadata& md,
                                            const DecodeTensors& tensors) {
  if (!md.plan || !RowMap::make(md)) return std::nullopt;
  const std::int64_t fold = md.shape.fold_ratio();
  cpu::TaskInput input{.metadata = md,
                       .cache = cpu::CacheView::of(tensors.cache),
                       .kernel_rows = md.rows().count() * fold,
                       .fold = fold,
                       .partial_rows = md.plan->reduce_partial_map.size() * md.shape.max_qo_len};
  const cpu::TaskList plain = cpu::read_works(md.plan->view(), input);
  std::vector<std::int32_t> global{0};
  for (const std::int64_t n : md.kv_lens)
    global.push_back(static_cast<std::int32_t>(global.back() + n));
  input.share = {.global_kv_indptr = global};
  const cpu::TaskList shared = cpu::read_works(md.plan->view(), input);
  if (plain.tasks.size() != shared.tasks.size()) return "one rank alone has other works";
  for (std::size_t i = 0; i < plain.tasks.size(); ++i)
    for (std::int64_t row = plain.tasks[i].q_begin; row < plain.tasks[i].q_end; ++row)
      if (plain.tasks[i].visible(row) != shared.tasks[i].visible(row))
        return say("kernel row ", row, " sees ", plain.tasks[i].visible(row), " keys of work ",
                   plain.tasks[i].work, ", and ", shared.tasks[i].visible(row),
                   " where one rank has them all");
  return std::nullopt;
}

}  // namespace

Outcome decode_rank_masks(Subject& subject) {
  Random random(subject.spec(), "P24 ranks");
  for (int n = 0; n < 4; ++n)
    if (auto why = masks_differ(random)) return failed(std::move(*why));
  if (auto why = one_rank_differs(*subject.metadata(), *subject.tensors()))
    return failed(std::move(*why));
  return passed();
}

}  // namespace mla::prop
