// P33: what crosses to a kernel is complete: six plan buffers or none, addresses that are theirs,
// sizes that the size query gave, list lengths that fit each other, and a usable scale for fp8.
#include <bit>
#include <cmath>

#include "core/engine/launch.hpp"
#include "core/engine/run_decode.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/engine/whole_cache.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/forwarding_backend.hpp"

namespace mla::prop {
namespace {

std::optional<std::string> check_plan(const DecodeMetadata& md, const PlanQuestion& question,
                                      const plan::StepPlanner* planner) {
  const plan::PlanView view = md.plan->view();
  if (view.work_meta_data[0] != std::bit_cast<std::uint64_t>(view.work_indptr.data()) ||
      view.work_meta_data[1] != std::bit_cast<std::uint64_t>(view.work_info.data()))
    return "work_meta_data does not hold the addresses of work_indptr and work_info_set";
  if (view.work_indptr.empty() || view.work_info.empty() || view.reduce_indptr.empty())
    return "one of the six plan buffers is missing";
  const auto sizes = plan_sizes(planner, question.query);
  if (!sizes) return "the size query refuses: " + sizes.error().message;
  if (!(md.plan->sizes() == *sizes)) return "the plan buffers have other sizes than the query gave";
  if (view.work_info.size() % plan::kWorkItemWords != 0)
    return "work_info_set is not an array of 8 words";
  return std::nullopt;
}

std::optional<std::string> check_lists(const DecodeMetadata& md) {
  const auto requests = static_cast<std::size_t>(md.requests().count());
  if (md.kv_indptr.size() != requests + 1 || md.last_page_len.size() != requests ||
      md.kv_lens.size() != requests)
    return say("qo_indptr is for ", requests, " requests, kv_indptr has ", md.kv_indptr.size(),
               " entries, last_page_len ", md.last_page_len.size(), " and kv_lens ",
               md.kv_lens.size());
  for (std::size_t r = 0; r < requests; ++r) {
    const std::int64_t pages = md.kv_indptr[r + 1] - md.kv_indptr[r];
    if (pages != ceil_div(md.kv_lens[r], md.shape.page_size))
      return say(request_name(static_cast<std::int64_t>(r)), " has ", pages, " pages and ",
                 md.kv_lens[r], " keys");
  }
  for (const RowRange& rows : md.keyless_rows)
    if (rows.begin < 0 || rows.end <= rows.begin || rows.end > md.rows().count())
      return say("keyless rows ", rows.begin, "..", rows.end, " of ", md.rows().count());
  return std::nullopt;
}

std::optional<std::string> check_scale(const char* tensor, Dtype dtype, float scale) {
  if (dtype == Dtype::bf16 && scale == 1) return std::nullopt;
  if (dtype == Dtype::fp8 && std::isnormal(scale) && scale > 0) return std::nullopt;
  return say("the ", name(dtype), " ", tensor, " carries the scale ", scale);
}

std::optional<std::string> check_result(const DecodeResult& result, std::int64_t pairs,
                                        ValueDims values) {
  if (static_cast<std::int64_t>(result.out.size()) == pairs * values.count() &&
      static_cast<std::int64_t>(result.lse.size()) == pairs)
    return std::nullopt;
  return say(pairs, " (row, head) pairs got ", result.out.size(), " elements of out and ",
             result.lse.size(), " of the LSE");
}

// Takes every launch whose tensors belong to its metadata, and executes none.
class Checking final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions&) const override {
    if (const MaybeError bad = check_launch(launch)) return *bad;
    return DecodeResult{};
  }
};

// A Q or a cache that is not the launch's own is not run: it would be read past its end, or leave
// rows that were not asked for. The cache has no slot here: what matters is that sizes fit.
std::optional<std::string> check_other_tensors(Subject& subject) {
  constexpr std::int64_t kMostCopied = 1 << 20;  // bytes of Q
  const DecodeMetadata& md = *subject.metadata();
  const std::int64_t row = subject.spec().heads * md.shape.widths.key_bytes(md.shape.dtype.q);
  const std::int64_t bytes = subject.batch()->rows().count() * row;
  if (bytes > kMostCopied) return std::nullopt;
  DecodeTensors own;
  own.q.resize(static_cast<std::size_t>(bytes));
  own.cache.dtype = md.shape.dtype.kv;
  own.cache.widths = md.shape.widths;
  const auto run = [&](const DecodeTensors& tensors) {
    return run_decode(Checking(subject.backend()), {md, tensors}, {}, StepHooks::none());
  };
  if (const auto sound = run(own); !sound)
    return "a launch with its own tensors is refused: " + sound.error().message;
  for (const std::int64_t size : {bytes - row, bytes + row}) {
    if (size < 0) continue;
    DecodeTensors other = own;
    other.q.resize(static_cast<std::size_t>(size));
    if (run(other).ok())
      return say("a launch of ", bytes, " bytes of Q is run with ", size, " bytes");
  }
  DecodeTensors other = own;
  other.cache.bytes.resize(1);
  if (run(other).ok()) return "a launch is run with a cache of more bytes than its slots have";
  other = own;
  other.cache.dtype = own.cache.dtype == Dtype::fp8 ? Dtype::bf16 : Dtype::fp8;
  if (run(other).ok()) return "a launch is run with a cache of another dtype";
  return std::nullopt;
}

Outcome decode_abi_contract(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  const DecodeMetadata& md = *metadata;
  if (const auto why = check_lists(md)) return failed(*why);
  if (md.has_persistent_metadata() != (md.shape.route != Route::split))
    return failed(say("route ", name(md.shape.route), " comes ", md.plan ? "with" : "without",
                      " the six plan buffers"));
  if (md.plan)
    if (const auto why =
            check_plan(md, subject.builder().question(md), subject.backend().planner()))
      return failed(*why);
  const auto& tensors = subject.tensors();
  if (!tensors) return refusal(tensors.error());
  if (const auto why = check_scale("query", md.shape.dtype.q, tensors->q_scale))
    return failed(*why);
  if (const auto why = check_scale("cache", md.shape.dtype.kv, tensors->kv_scale))
    return failed(*why);
  if (!(std::isnormal(tensors->softmax_scale) && tensors->softmax_scale > 0))
    return failed(say("the softmax scale is ", tensors->softmax_scale));
  if (const Support support = subject.backend().supports(md.shape); !support.ok)
    return skipped("the backend declines: " + support.reason);
  const auto& result = subject.result();
  // Only a cache larger than devices take as a whole may be declined as late as this.
  const KvCache& cache = tensors->cache;
  const std::int64_t bytes = (cache.first_slot + cache.slots) * cache.row_bytes();
  if (!result && result.error().code == ErrorCode::unsupported && bytes > kWholeCacheBytes)
    return skipped("the backend declines: " + result.error().message);
  if (!result) return failed("a complete launch is not taken: " + result.error().message);
  const std::int64_t pairs = subject.batch()->rows().count() * subject.spec().heads;
  if (const auto why = check_result(*result, pairs, subject.shape()->widths.value()))
    return failed(*why);
  if (const auto why = check_other_tensors(subject)) return failed(*why);
  return md.plan ? decode_unsound_plans(subject) : passed();
}

}  // namespace

constexpr Property kP33{
    .id = "P33",
    .name = "abi_contract",
    .sentence = "A launch carries six plan buffers or none, with sizes, lists and scales that fit.",
    .check = by_kind<decode_abi_contract, nullptr, nullptr>,
    .held = Held::own};

}  // namespace mla::prop
