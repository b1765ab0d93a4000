#include "core/engine/prefill/forward.hpp"

#include <algorithm>

#include "core/engine/prefill/forward_pass.hpp"
#include "core/say.hpp"

namespace mla::prefill {
namespace {

MaybeError check_size(const char* what, std::size_t have, std::int64_t need) {
  if (static_cast<std::int64_t>(have) == need) return std::nullopt;
  return Error{ErrorCode::fault, say(what, " has ", have, " elements, not ", need)};
}

MaybeError check_launch(const PrefillLaunch& launch) {
  const PrefillMetadata& md = launch.metadata;
  const PrefillTensors& t = launch.tensors;
  if (md.shape.heads.model != Heads(t.heads))
    return Error{ErrorCode::fault, say("the tensors have ", t.heads, " heads, the metadata ",
                                       md.shape.heads.model.count())};
  if (md.fp8.has_value() != (md.shape.path != Path::flash))
    return Error{ErrorCode::fault,
                 say("path ", name(md.shape.path), " and the fields of the fp8 plan")};
  const std::int64_t pairs = md.rows().count() * t.heads;
  if (MaybeError bad = check_size("q", t.q.size(), pairs * kQkDim)) return bad;
  if (MaybeError bad = check_size("k", t.k.size(), pairs * kQkDim)) return bad;
  if (MaybeError bad = check_size("v", t.v.size(), pairs * kVDim)) return bad;
  return check_size("the context cache", t.cache.bits.size(),
                    t.cache.slots * t.heads * (kQkDim + kVDim));
}

// The largest scratch of the step's runs of the fp8 kernel, which follow one another.
std::size_t scratch_bytes(const PrefillMetadata& md) {
  const Heads heads = md.shape.heads.kernel;
  std::size_t bytes = 0;
  const auto run = [&](const PlanFields& fields, std::int64_t rows) {
    bytes = std::max(bytes, scratch_layout(fields.num_partial_tiles, heads, Rows(rows)).bytes());
  };
  if (md.fp8) run(*md.fp8, md.rows().count());
  for (std::size_t i = 0; i < md.context_plans.size(); ++i) {
    const RowRange rows = md.context->chunks[i].rows;
    run(md.context_plans[i].fields, rows.end - rows.begin);
  }
  return bytes;
}

}  // namespace

MaybeError queue_prefill(const PrefillLaunch& launch, const Kernels& kernels,
                         const ExecutionOptions& options, device::Stream& stream,
                         device::Workspace& workspace, PrefillResult& result) {
  if (MaybeError bad = check_launch(launch)) return bad;
  const std::size_t bytes = scratch_bytes(launch.metadata);
  device::DeviceView<std::byte> scratch;
  if (bytes > 0) {
    // Given back when this returns: what is queued runs before what the next holder queues.
    const auto lease = workspace.acquire("fp8 prefill", bytes);
    if (!lease) return lease.error();
    scratch = lease->view();
  }
  std::make_shared<ForwardPass>(launch, kernels, options, stream, scratch, result)->queue();
  return std::nullopt;
}

}  // namespace mla::prefill
