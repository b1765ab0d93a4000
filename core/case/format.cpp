#include <charconv>

#include "core/case/text.hpp"
#include "core/say.hpp"

namespace mla {
namespace {

std::string kv_length(std::int64_t n) {
  return n > 0 && n % 1024 == 0 ? say(n / 1024, "k") : std::to_string(n);
}

std::string requests_text(const std::vector<RequestSpec>& requests) {
  std::string out;
  for (std::size_t i = 0; i < requests.size();) {
    std::size_t same = 1;
    while (i + same < requests.size() && requests[i + same] == requests[i]) ++same;
    if (!out.empty()) out += '_';
    out += say(same, "q", requests[i].qo_len, "s", kv_length(requests[i].kv_len));
    i += same;
  }
  return out;
}

// The shortest text that reads back as the same float.
std::string float_text(float value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string with_parameter(std::string_view word, std::uint64_t parameter) {
  return say(word, ".", parameter);
}

std::string layout_text(const LayoutSpec& layout) {
  return text::has_parameter(layout.kind) ? with_parameter(name(layout.kind), layout.parameter)
                                          : std::string(name(layout.kind));
}

// The case's fields of one kind; the defaults if it is of another.
template <class Spec>
Spec fields_of(const Case& c) {
  const Spec* spec = std::get_if<Spec>(&c.step);
  return spec ? *spec : Spec{};
}

}  // namespace

std::string_view name(Layout layout) {
  return text::word(text::kLayouts, layout);
}
std::string_view name(Distribution d) {
  return text::word(text::kDistributions, d);
}
std::string_view name(TailFill fill) {
  return text::word(text::kTailFills, fill);
}
std::string_view name(PlannerChoice planner) {
  return text::word(text::kPlanners, planner);
}
std::string_view name(StepKind kind) {
  return text::word(text::kKinds, kind);
}

StepSpec default_step(StepKind kind) {
  switch (kind) {
    case StepKind::decode:
      return DecodeSpec{};
    case StepKind::prefill:
      return PrefillSpec{};
    case StepKind::fa:
      return FaSpec{};
  }
  return {};
}

std::string format_case(const Case& c) {
  const Case defaults;
  const DecodeSpec unset;
  const auto decode = fields_of<DecodeSpec>(c);
  const auto fa = fields_of<FaSpec>(c);
  const std::int64_t workspace =
      c.kind() == StepKind::prefill ? c.prefill().workspace_tokens : fa.workspace_tokens;
  std::string out = say(text::kVersion, ":", requests_text(c.requests));
  for (const auto& step : c.later_steps) out += "+" + requests_text(step);
  const auto add = [&out](std::string_view key, const std::string& value) {
    out += say(";", key, "=", value);
  };
  add("heads", std::to_string(c.heads));
  add("block", std::to_string(c.block_size));
  add("arch", std::string(name(c.arch)));
  add("cu", std::to_string(c.compute_units));
  add("dtype", say(name(c.dtype.q), "/", name(c.dtype.kv)));
  add("gran", std::to_string(decode.granularity));
  add("split", std::to_string(decode.max_split));
  add("causal", c.causal ? "1" : "0");
  add("layout", layout_text(c.layout));
  add("data", with_parameter(name(c.data.kind), c.data.seed));
  if (c.page_size != defaults.page_size) add("page", std::to_string(c.page_size));
  if (c.planner != defaults.planner) add("planner", std::string(name(c.planner)));
  if (c.pad_requests != defaults.pad_requests) add("pad", std::to_string(c.pad_requests));
  if (decode.spare != unset.spare)
    add("spare", say(decode.spare.entries, ".", name(decode.spare.fill)));
  if (decode.q_scale != unset.q_scale || decode.kv_scale != unset.kv_scale)
    add("scale", float_text(decode.q_scale) + "/" + float_text(decode.kv_scale));
  if (decode.need_lse != unset.need_lse) add("lse", "1");
  if (c.origin_block != defaults.origin_block) add("origin", std::to_string(c.origin_block));
  if (c.schedule_seed != defaults.schedule_seed) add("sched", std::to_string(c.schedule_seed));
  if (decode.kernel_rows != unset.kernel_rows) add("qpad", std::to_string(decode.kernel_rows));
  if (decode.kv_splits != unset.kv_splits) add("splits", std::to_string(decode.kv_splits));
  if (decode.latent != unset.latent) add("latent", std::to_string(decode.latent));
  if (decode.rope != unset.rope) add("rope", std::to_string(decode.rope));
  if (decode.value != unset.value) add("value", std::to_string(decode.value));
  if (c.kind() != defaults.kind()) add("kind", std::string(name(c.kind())));
  if (workspace != FaSpec{}.workspace_tokens) add("workspace", std::to_string(workspace));
  if (fa.kv_heads != FaSpec{}.kv_heads) add("kvheads", std::to_string(fa.kv_heads));
  if (fa.head_dim != FaSpec{}.head_dim) add("dim", std::to_string(fa.head_dim));
  if (fa.window != FaSpec{}.window) add("window", std::to_string(fa.window));
  if (fa.draft_tokens != FaSpec{}.draft_tokens) add("draft", std::to_string(fa.draft_tokens));
  return out;
}

}  // namespace mla
