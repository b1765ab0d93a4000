#include "core/engine/prefill/prefill_shape.hpp"

#include "core/say.hpp"

namespace mla::prefill {
namespace {

Error unsupported(std::string why) {
  return {ErrorCode::unsupported, std::move(why)};
}

MaybeError check_case(const Case& c) {
  if (c.kind() != StepKind::prefill)
    return unsupported(say("a case of kind ", mla::name(c.kind()), " has no prefill shape"));
  if (c.dtype.q != Dtype::bf16)
    return unsupported(
        say("dtype ", mla::name(c.dtype.q), " of Q: a prefill gets bf16 and casts by itself"));
  if (c.pad_requests > 0)
    return unsupported(
        say(c.pad_requests, " padding requests: graphs capture decodes, not prefills"));
  if (c.page_size != 1)
    return unsupported(say("page size ", c.page_size, ": a prefill reads the cache by blocks"));
  const PlannerChoice p = c.planner;
  if (p != PlannerChoice::automatic && p != PlannerChoice::none && p != PlannerChoice::v12)
    return unsupported(say("planner ", mla::name(p), " plans decodes only"));
  return std::nullopt;
}

MaybeError check_requests(const Case& c, const Batch& batch) {
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const auto [q, n] = batch.requests[r];
    if (q < 1) return unsupported(say("request ", r, " has no query row: none is scheduled"));
    if (n < q)
      return Error{
          ErrorCode::refused,
          say("request ", r, " has ", n, " keys for ", q, " query rows, which bring a key each"),
          "BUG-075"};
    if (n > q && c.prefill().workspace_tokens < c.block_size)
      return unsupported(say("a workspace of ", c.prefill().workspace_tokens,
                             " tokens holds no block of ", c.block_size));
  }
  return std::nullopt;
}

// Why this step cannot take the fp8 kernel although the platform and the model can.
std::vector<std::string> why_not_this_step(const Case& c, const Batch& batch) {
  std::vector<std::string> why;
  if (c.planner == PlannerChoice::none) why.emplace_back("the case asks for no plan");
  if (!c.causal) why.emplace_back("the case is not causal: the plan of new tokens always is");
  for (std::size_t r = 0; r < batch.requests.size() && c.planner != PlannerChoice::v12; ++r) {
    const std::int64_t context = batch.requests[r].kv_len - batch.requests[r].qo_len;
    if (context == 0) continue;
    why.push_back(
        say("the batch has chunked context: request ", r, " has ", context, " cached keys"));
    break;
  }
  return why;
}

bool has_context(const Batch& batch) {
  for (const RequestSpec& r : batch.requests)
    if (r.kv_len > r.qo_len) return true;
  return false;
}

Result<PrefillShape> shape_of(const Case& c, const Batch& batch, const Capability& capability) {
  if (MaybeError bad = check_case(c)) return *bad;
  if (MaybeError bad = check_requests(c, batch)) return *bad;
  PrefillShape s;
  s.arch = c.arch;
  s.compute_units = ComputeUnits(c.compute_units);
  s.fp8 = fp8_variant(c.arch);
  s.causal = c.causal;
  s.block_size = c.block_size;
  s.workspace_tokens = c.prefill().workspace_tokens;
  s.fallback = capability.missing;
  for (std::string& why : why_not_this_step(c, batch)) s.fallback.push_back(std::move(why));
  s.heads = pad_heads_to(Heads(c.heads), Heads(c.heads));
  if (!s.fallback.empty()) return s;
  const auto heads = resolve_head_padding(Heads(c.heads));
  if (!heads) return heads.error();
  s.heads = *heads;
  s.path = has_context(batch) ? Path::fp8_context : Path::fp8;
  return s;
}

}  // namespace

std::string_view name(Path path) {
  switch (path) {
    case Path::flash:
      return "flash";
    case Path::fp8:
      return "fp8";
    case Path::fp8_context:
      return "fp8-context";
  }
  return {};
}

Platform platform_of(const Case& c) {
  return {std::string(mla::name(c.arch)), true, true};
}

Model model_of(const Case& c) {
  return {.activations = c.dtype.q, .cache = c.dtype.kv, .heads = Heads(c.heads)};
}

Capability capability_of(const Case& c, const Hooks& hooks) {
  Model model = model_of(c);
  hooks.on_model(model);
  Capability capability = capability_of(platform_of(c), model);
  hooks.on_capability(model, capability);
  return capability;
}

Result<PrefillShape> resolve_prefill_shape(const Case& c, const Batch& batch, const Hooks& hooks) {
  auto shape = shape_of(c, batch, capability_of(c, hooks));
  if (shape) hooks.on_prefill_shape(*shape);
  return shape;
}

}  // namespace mla::prefill
