// P09: a piece in which a row sees no key has weight 0: its partial output is 0, its LSE -inf, and
// it changes nothing in the merge; a row without any key gets output 0 and LSE -inf. No NaN comes
// out of finite input.
#include <cmath>
#include <limits>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "cpu_backend/merge.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare_subject.hpp"

namespace mla::prop {
namespace {

// A neighbour of the case that has empty pieces by construction: short requests on the split
// route, or pages whose last one holds a single key that only the last row of a request sees.
Case with_empty_pieces(const Case& c) {
  Random random(c, "P09");
  Case other = c;
  other.pad_requests = 0;
  const std::int64_t q = std::max<std::int64_t>(c.requests[0].qo_len, 1);
  if (c.planner == PlannerChoice::none) {
    other.requests = {{q, q + random.below(40)}, {q, 0}};
    return other;
  }
  other.planner = PlannerChoice::v12;
  other.page_size = 16;
  other.block_size = 16 * random.between(1, 3);
  other.decode().granularity = 1;
  other.decode().max_split = -1;
  other.compute_units = 304;
  const std::int64_t rows = random.between(2, 4);
  other.requests = {{rows, 16 * random.between(1, 3) + 1}, {rows, 0}};
  return other;
}

std::optional<std::string> unexpected_nan(const DecodeResult& result) {
  for (std::size_t i = 0; i < result.out.size(); ++i)
    if (std::isnan(bf16_to_float(result.out[i])))
      return say("element ", i, " of the output is NaN");
  for (std::size_t i = 0; i < result.lse.size(); ++i)
    if (std::isnan(result.lse[i]) || result.lse[i] == std::numeric_limits<float>::infinity())
      return say("element ", i, " of the LSE is ", result.lse[i]);
  return std::nullopt;
}

// Keys before which row `row` of a work's request may see nothing of it: see aiter.md 6.
bool sees_nothing(const DecodeMetadata& md, const plan::WorkItem& item, std::int64_t row) {
  if (!md.shape.causal || !md.shape.kernel.masks) return item.kv_end <= item.kv_begin;
  const std::int64_t fold = md.shape.fold_ratio();
  const auto request = static_cast<std::size_t>(item.batch / fold);
  const std::int64_t q = md.qo_indptr[request + 1] - md.qo_indptr[request];
  const std::int64_t q_end = fold == 1 ? md.qo_indptr[request + 1] : (item.batch + 1) * q;
  const std::int64_t first_key = (item.kv_begin - md.kv_indptr[request]) * md.shape.page_size;
  const std::int64_t visible = md.kv_lens[request] - (q_end - 1 - row);
  return item.kv_end <= item.kv_begin || visible <= first_key;
}

struct EmptyPieces {
  std::int64_t found = 0;
  std::optional<std::string> wrong;
};

EmptyPieces check_pieces(const DecodeMetadata& md, const DecodeResult& result) {
  EmptyPieces pieces;
  const auto heads = static_cast<std::size_t>(result.kernel_heads);
  for (std::int64_t w = 0; w < md.plan->works(); ++w) {
    const plan::WorkItem item = md.plan->work(w);
    if (item.partial_row < 0) continue;
    for (std::int64_t row = item.q_begin; row < item.q_end; ++row) {
      if (!sees_nothing(md, item, row)) continue;
      ++pieces.found;
      const auto at = static_cast<std::size_t>(item.partial_row + row - item.q_begin) * heads;
      for (std::size_t h = at; h < at + heads && h < result.partial_lse.size(); ++h) {
        const float lse = result.partial_lse[h];
        const float out =
            result.partial_out[h * static_cast<std::size_t>(md.shape.widths.value().count())];
        if (lse != -std::numeric_limits<float>::infinity() || out != 0)
          pieces.wrong = say("work ", w, " holds no key that row ", row, " sees, but has LSE ", lse,
                             " and output ", out);
      }
    }
  }
  return pieces;
}

// What one run says; a skip if nothing in it is empty.
Outcome check_run(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  if (const auto why = unexpected_nan(*result)) return failed(*why);
  const DecodeMetadata& md = *subject.metadata();
  bool empty = !md.keyless_rows.empty();
  if (md.plan) {
    const EmptyPieces pieces = check_pieces(md, *result);
    if (pieces.wrong) return failed(*pieces.wrong);
    empty = empty || pieces.found > 0;
  } else {
    for (const std::int64_t n : md.kv_lens)
      empty = empty || n <= (md.shape.kv_splits - 1) * md.shape.split_granularity;
  }
  Outcome outcome = compare_with_reference(subject);
  if (outcome.verdict == Verdict::pass && !empty) return skipped("no piece is empty");
  return outcome;
}

// Parts of a row for merge_partials(), of which some are empty.
struct Parts {
  std::vector<std::vector<float>> values;
  std::vector<float> lse;

  void add(Random& random, bool empty) {
    std::vector<float>& part = values.emplace_back();
    for (int d = 0; d < 8; ++d)
      part.push_back(empty ? 0.0F : static_cast<float>(random.between(-1000, 1000)) / 64);
    lse.push_back(empty ? -std::numeric_limits<float>::infinity()
                        : static_cast<float>(random.between(-900, 900)) / 64);
  }
  // Output and, last, the LSE. What was in their place before is no result.
  [[nodiscard]] std::vector<float> merged(cpu::MergeForm form) const {
    std::vector<const float*> out;
    for (const std::vector<float>& part : values) out.push_back(part.data());
    std::vector<float> result(values.front().size(), 77.0F);
    const float merged_lse = cpu::merge_partials(form, out, lse, result);
    result.push_back(merged_lse);
    return result;
  }
};

// Empty parts alone give 0 and -inf, and beside others they change nothing, wherever they stand.
std::optional<std::string> merge_differs(Random& random) {
  for (const cpu::MergeForm form : {cpu::MergeForm::running, cpu::MergeForm::weighted}) {
    Parts empty;
    Parts without;
    Parts with;
    for (std::int64_t n = random.between(2, 6); n > 0; --n) empty.add(random, true);
    std::vector<float> nothing(9, 0.0F);
    nothing.back() = -std::numeric_limits<float>::infinity();
    if (empty.merged(form) != nothing) return "a merge of empty parts is not 0 and -inf";
    for (std::int64_t n = random.between(1, 4); n > 0; --n) {
      if (random.below(2) == 0) with.add(random, true);
      without.add(random, false);
      with.values.push_back(without.values.back());
      with.lse.push_back(without.lse.back());
    }
    if (random.below(2) == 0) with.add(random, true);
    if (with.merged(form) != without.merged(form))
      return say("a merge of ", without.lse.size(), " parts changes beside ",
                 with.lse.size() - without.lse.size(), " empty ones");
    Parts one;
    one.add(random, false);
    std::vector<float> same = one.values.front();
    same.push_back(one.lse.front());
    one.add(random, true);
    if (one.merged(form) != same) return "a part beside an empty one is not the merge";
  }
  return std::nullopt;
}

Outcome decode_empty_neutral(Subject& subject) {
  Random random(subject.spec(), "P09 merges");
  if (auto why = merge_differs(random)) return failed(std::move(*why));
  Outcome here = check_run(subject);
  if (here.verdict != Verdict::skip) return here;
  Subject other = subject.sibling(with_empty_pieces(subject.spec()));
  Outcome there = check_run(other);
  if (there.verdict == Verdict::fail)
    there.message = "as " + format_case(other.spec()) + ": " + there.message;
  return there;
}

}  // namespace

constexpr Property kP09{
    "P09", "empty_neutral",
    "A piece without visible keys has weight 0, and no NaN comes out of finite input.",
    by_kind<decode_empty_neutral, nullptr, nullptr>};

}  // namespace mla::prop
