// P14: for every head count the padded, perhaps folded route gives what unpadded attention gives,
// and plan, tensors and reducer are made for the same heads.
#include "core/engine/launch.hpp"
#include "core/say.hpp"
#include "core/shape/dispatch.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare_subject.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

std::string heads(Heads h) {
  return std::to_string(h.count());
}

// Each model head has copies, and is taken back from one of them. `any_count`: an AITER that chose
// its kernel itself takes the heads of the model as they are.
std::optional<std::string> check_padding(const HeadPadding& padding, bool any_count) {
  const std::int64_t model = padding.model.count();
  const std::int64_t kernel = padding.kernel.count();
  const bool as_they_are = any_count && kernel == model;
  if (kernel < model || (kernel % 16 != 0 && !as_they_are))
    return heads(padding.model) + " heads are padded to " + heads(padding.kernel);
  for (std::int64_t p = 0; p < kernel; ++p)
    if (padding.source(p) < 0 || padding.source(p) >= model)
      return say("padded head ", p, " copies head ", padding.source(p), " of ",
                 heads(padding.model));
  for (std::int64_t h = 0; h < model; ++h)
    if (const std::int64_t at = padding.position(h);
        at < 0 || at >= kernel || padding.source(at) != h)
      return say("head ", h, " is taken back from padded head ", at, ", which copies another one");
  return std::nullopt;
}

std::optional<std::string> check_heads(Subject& subject, const ResolvedShape& shape) {
  if (shape.heads.model != Heads(subject.spec().heads))
    return say("the model has ", subject.spec().heads, " heads, the shape says ",
               heads(shape.heads.model));
  if (auto why = check_padding(shape.heads, chosen_by_dispatch(shape))) return why;
  if (shape.route == Route::split) return std::nullopt;
  DecodeBuffers buffers = make_decode_buffers(subject.spec(), *subject.batch(), shape);
  const auto md = subject.builder().lists(*subject.batch(), shape, buffers);
  if (!md) return std::nullopt;  // the lists are refused, whatever the heads
  const PlanQuestion question = subject.builder().question(*md);
  if (question.input.key.heads_per_kv_head != shape.heads.kernel)
    return "the kernel gets " + heads(shape.heads.kernel) + " heads, the plan is made for " +
           heads(question.input.key.heads_per_kv_head);
  if (question.query.heads != shape.heads.kernel)
    return "the kernel gets " + heads(shape.heads.kernel) + " heads, the buffers are sized for " +
           heads(question.query.heads);
  if (shape.fold_ratio() * shape.row_heads().count() != shape.heads.kernel.count())
    return say(shape.fold_ratio(), " groups of ", heads(shape.row_heads()),
               " heads are not the kernel's ", heads(shape.heads.kernel));
  return std::nullopt;
}

// Q as a kernel has it, in words of its own: request by request, group of heads by group, row by
// row, and each padded head a copy of its source. The Q is made up: no two of its rows are alike.
std::optional<std::string> other_packed_q(const DecodeMetadata& md) {
  constexpr std::int64_t kMostBytes = 1 << 20;
  const ResolvedShape& s = md.shape;
  const std::int64_t bytes = s.widths.key_bytes(s.dtype.q);
  if (md.rows().count() * s.heads.kernel.count() * bytes > kMostBytes) return std::nullopt;
  const auto rows = RowMap::make(md);
  if (!rows) return "kernel rows have no query rows: " + rows.error().message;
  DecodeTensors tensors;
  tensors.cache.widths = s.widths;
  tensors.q.resize(static_cast<std::size_t>(md.rows().count() * s.heads.model.count() * bytes));
  std::uint32_t state = 1;
  for (std::byte& b : tensors.q)
    b = static_cast<std::byte>((state = state * 1664525U + 1013904223U) >> 24U);
  const std::vector<std::byte> packed = pack_q(*rows, tensors, s.dtype.q);
  std::vector<std::byte> own;
  for (std::size_t r = 0; r + 1 < md.qo_indptr.size(); ++r)
    for (std::int64_t group = 0; group < s.fold_ratio(); ++group)
      for (std::int64_t row = md.qo_indptr[r]; row < md.qo_indptr[r + 1]; ++row)
        for (std::int64_t h = 0; h < s.row_heads().count(); ++h) {
          const std::int64_t head = s.heads.source(group * s.row_heads().count() + h);
          const auto from = tensors.q.begin() + (row * s.heads.model.count() + head) * bytes;
          own.insert(own.end(), from, from + bytes);
        }
  if (packed == own) return std::nullopt;
  return say("Q is not laid out as ", s.fold_ratio(), " groups of ", heads(s.row_heads()),
             " heads for each request");
}

Outcome decode_head_pad(Subject& subject) {
  const auto& shape = subject.shape();
  if (!shape) return refusal(shape.error());
  if (const auto why = check_heads(subject, *shape)) return failed(*why);
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  if (result->kernel_heads != shape->row_heads().count())
    return failed(say("the partial results have ", result->kernel_heads,
                      " heads, the kernel's rows ", heads(shape->row_heads())));
  if (const auto why = other_packed_q(*subject.metadata())) return failed(*why);
  return compare_with_reference(subject);
}

// For prefill steps: different heads in the works of the plan.
std::int64_t planned_heads(const SeenPlan& plan) {
  std::int64_t most = 0;
  for (std::size_t w = 0; w < static_cast<std::size_t>(plan.work_indptr.back()); ++w)
    most = std::max<std::int64_t>(most, plan.work_info[w * plan::kWorkItemWords + 7] >> 16);
  return most;
}

Outcome prefill_head_pad(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  const HeadPadding& padding = step.shape.heads;
  if (padding.model != Heads(subject.spec().heads))
    return failed(say("the model has ", subject.spec().heads, " heads, the shape says ",
                      heads(padding.model)));
  // The path depends on platform, dtypes and context, on the number of heads never.
  Case sixteen = step.spec;
  sixteen.heads = 16;
  const auto shape = prefill::resolve_prefill_shape(sixteen, step.batch, subject.hooks());
  if (shape.ok() && shape->path != step.shape.path)
    return failed(say(heads(padding.model), " heads take path ", name(step.shape.path),
                      ", 16 take ", name(shape->path)));
  if (step.shape.path == prefill::Path::flash) {
    if (padding.kind != PadKind::none) return failed("flash attention gets padded heads");
    return compare_with_reference(subject);
  }
  if (padding.kernel.count() % 16 != 0 || padding.kernel < padding.model)
    return failed(heads(padding.model) + " heads are padded to " + heads(padding.kernel));
  if (step.config.kernel_heads != padding.kernel)
    return failed("buffers and scratch are made for " + heads(step.config.kernel_heads) +
                  " heads, the kernel gets " + heads(padding.kernel));
  if (planned_heads(step.plan) != padding.kernel.count())
    return failed(say("the plan is made for ", planned_heads(step.plan), " heads, the kernel gets ",
                      heads(padding.kernel)));
  return compare_with_reference(subject);
}

}  // namespace

constexpr Property kP14{.id = "P14",
                        .name = "head_pad",
                        .sentence =
                            "Padded and folded heads give what unpadded attention gives, and plan, "
                            "tensors and reducer have the same heads.",
                        .check = by_kind<decode_head_pad, prefill_head_pad, nullptr>,
                        .held = Held::own};

}  // namespace mla::prop
