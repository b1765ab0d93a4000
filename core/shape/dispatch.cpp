#include "core/shape/dispatch.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "core/shape/split_count.hpp"

namespace mla {
namespace {

constexpr std::string_view kChosen = "chosen by this AITER's own dispatch";

// Whether the table has a row for the head count, with whatever rows.
bool listed(const Case& c, std::int64_t heads) {
  const auto table = c.planner == PlannerChoice::none ? split_kernels() : persistent_kernels();
  return std::ranges::any_of(table, [&](const KernelEntry& k) {
    return k.arch == c.arch && k.dtype == c.dtype && k.heads == heads;
  });
}

// A step of the same lists that the table takes: its shape has all that heads do not decide.
Result<ResolvedShape> stand_in(const Case& c, const Batch& batch) {
  Case alike = c;
  const bool planned = c.planner != PlannerChoice::none;
  alike.heads = planned ? 16 : kMaxHeads;
  alike.causal = true;
  if (planned) alike.planner = PlannerChoice::v12;
  alike.decode().need_lse = false;
  alike.decode().kernel_rows = 0;
  if (!planned) alike.decode().kv_splits = 1;
  return resolve_shape(alike, batch);
}

// Rows of a workgroup are the program's matter: no tile is held against a bound.
PlanShape plan_of(const ResolvedShape& s, Heads row_heads) {
  PlanShape plan;
  plan.native = row_heads == s.heads.kernel;
  plan.fold_ratio = s.heads.kernel.count() / row_heads.count();
  plan.plan_heads = row_heads;
  plan.slots = s.compute_units;
  return plan;
}

KernelEntry kernel_of(const ResolvedShape& s) {
  return {.label = kChosen,
          .arch = s.arch,
          .dtype = s.dtype,
          .heads = s.heads.kernel.count(),
          .min_qo_len = s.max_qo_len,
          .max_qo_len = s.max_qo_len,
          .lse = s.final_lse,
          .non_causal = !s.causal,
          .masks = true};
}

class Asker {
 public:
  Asker(const Case& c, const Batch& batch, const Dispatch& dispatch)
      : case_(c), batch_(batch), dispatch_(dispatch), planned_(c.planner != PlannerChoice::none) {
    for (const RequestSpec& r : batch.requests) longest_ = std::max(longest_, r.qo_len);
    uniform_ = std::ranges::all_of(batch.requests,
                                   [&](const RequestSpec& r) { return r.qo_len == longest_; });
  }

  [[nodiscard]] Result<Heads> ask(std::int64_t heads, std::int64_t rows) const {
    auto row_heads = dispatch_.row_heads({.arch = case_.arch,
                                          .compute_units = case_.compute_units,
                                          .dtype = case_.dtype,
                                          .heads = heads,
                                          .rows = rows,
                                          .causal = case_.causal,
                                          .lse = case_.decode().need_lse,
                                          .planned = planned_});
    if (row_heads && (row_heads->count() < 1 || heads % row_heads->count() != 0))
      return Error{ErrorCode::fault, say(heads, " heads run as rows of ", row_heads->count())};
    return row_heads;
  }

  // A step of so many heads, as the program takes it: whole requests, else every row as one.
  [[nodiscard]] Result<ResolvedShape> shape(ResolvedShape s, HeadPadding heads) const {
    s.heads = heads;
    s.causal = case_.causal;
    s.final_lse = case_.decode().need_lse;
    s.leading_rows = 0;
    s.notes.clear();
    const std::int64_t count = heads.kernel.count();
    const auto whole = ask(count, longest_);
    if (!planned_) return whole ? split(std::move(s)) : Result<ResolvedShape>(whole.error());
    if (whole && (whole->count() == count || uniform_)) {
      s.route = Route::persistent;
      s.route_reason = "this AITER takes these requests";
      s.max_qo_len = longest_;
      s.uniform_qo_len = uniform_ ? longest_ : -1;
      return planned(std::move(s), *whole);
    }
    const std::string why = whole ? "folded heads need the same number of rows in every request"
                                  : whole.error().message;
    const auto single = longest_ > 1 ? ask(count, 1) : whole;
    if (!single) return whole ? single.error() : whole.error();
    s.route = Route::persistent_rows;
    s.route_reason = why;
    s.max_qo_len = s.uniform_qo_len = 1;
    return planned(std::move(s), *single);
  }

 private:
  static Result<ResolvedShape> planned(ResolvedShape s, Heads row_heads) {
    s.plan = plan_of(s, row_heads);
    s.kernel = kernel_of(s);
    return s;
  }

  [[nodiscard]] Result<ResolvedShape> split(ResolvedShape s) const {
    s.max_qo_len = longest_;
    s.uniform_qo_len = uniform_ ? longest_ : -1;
    s.kernel = kernel_of(s);
    s.kv_splits = case_.decode().kv_splits;
    std::int64_t keys = 0;
    for (const RequestSpec& r : batch_.requests)
      if (r.qo_len > 0) keys += r.kv_len;
    if (s.kv_splits == 0) {
      const auto splits = plan::split_count({.compute_units = s.compute_units,
                                             .batch = Requests(std::ssize(batch_.requests)),
                                             .total_kv = Tokens(keys),
                                             .heads = s.heads.kernel,
                                             .max_qo_len = longest_,
                                             .dtype = s.dtype});
      if (!splits) return splits.error();
      s.kv_splits = *splits;
    }
    s.split_granularity = plan::split_granularity(s.heads.kernel, longest_, s.dtype);
    return s;
  }

  const Case& case_;
  const Batch& batch_;
  const Dispatch& dispatch_;
  bool planned_;
  std::int64_t longest_ = 0;
  bool uniform_ = false;
};

// The shape of the table, folded as the program folds it.
ResolvedShape folded(ResolvedShape s, const Asker& asker) {
  if (s.route == Route::split || s.heads.kernel.count() <= 16) return s;
  const auto row_heads = asker.ask(s.heads.kernel.count(), s.max_qo_len);
  if (!row_heads || *row_heads == s.plan.plan_heads) return s;
  if (*row_heads != s.heads.kernel && s.uniform_qo_len < 1) return s;
  s.plan = plan_of(s, *row_heads);
  s.kernel = kernel_of(s);
  return s;
}

}  // namespace

Result<ResolvedShape> resolve_shape(const Case& c, const Batch& batch, const Dispatch* dispatch) {
  auto by_table = resolve_shape(c, batch);
  const bool asked = c.planner == PlannerChoice::automatic || c.planner == PlannerChoice::v12 ||
                     c.planner == PlannerChoice::none;
  if (dispatch == nullptr || c.kind() != StepKind::decode || !asked) return by_table;
  const auto padding = resolve_head_padding(Heads(c.heads));
  const auto alike = stand_in(c, batch);
  if (!padding || !alike) return by_table;
  const Asker asker(c, batch, *dispatch);
  if (padding->kind != PadKind::none && !listed(c, c.heads))
    if (auto own = asker.shape(*alike, pad_heads_to(padding->model, padding->model))) return own;
  if (!listed(c, padding->kernel.count())) return asker.shape(*alike, *padding);
  return by_table ? folded(*std::move(by_table), asker) : by_table;
}

bool chosen_by_dispatch(const ResolvedShape& shape) {
  return shape.kernel.label == kChosen;
}

}  // namespace mla
