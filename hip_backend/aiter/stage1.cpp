#include "hip_backend/aiter/stage1.hpp"

#include <bit>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "hip_backend/aiter/stage1_launch.hpp"

namespace mla::hip::aiter {
namespace {

class AiterStage1 final : public Stage1 {
 public:
  AiterStage1(const Stage1Input& input, KernelHandle kernel, Stage1Launch launch)
      : device_(input.device),
        kernel_(kernel),
        out_(std::bit_cast<Address>(input.buffers.out)),
        lse_(std::bit_cast<Address>(input.buffers.lse)),
        heads_(static_cast<std::size_t>(input.rows.row_heads())),
        launch_(std::move(launch)),
        launches_(input.launches) {}

  MaybeError run(StreamHandle stream) override { return put(stream, launch_.run, "stage 1"); }

  MaybeError finish() override {
    return std::visit([this](const auto& afterwards) { return finish(afterwards); },
                      launch_.afterwards);
  }

 private:
  MaybeError put(StreamHandle stream, const KernelRun& run, const char* what) {
    if (MaybeError bad = device_.launch(stream, kernel_, run.size, argument_bytes(run.arguments)))
      return bad;
    launches_.add({"aiter", device_.properties().label, StepKind::decode, what});
    return std::nullopt;
  }

  MaybeError finish(const Complete&) { return std::nullopt; }
  MaybeError finish(const AskAgain& again) {
    if (MaybeError bad = put({}, again.run, "stage 1 for the LSE")) return bad;
    if (MaybeError bad = device_.synchronize({})) return bad;
    return keep_lse(again.lse);
  }
  MaybeError finish(const RoundPartials& partials) {
    if (MaybeError bad = keep_lse(partials.lse)) return bad;
    auto out = partials.lse.scratch.out.read_all<float>();
    if (!out) return out.error();
    std::vector<std::uint16_t> rounded;
    rounded.reserve(out->size());
    for (const float value : *out)
      rounded.push_back(std::bit_cast<std::uint32_t>(value) == kPoisonF32
                            ? kPoisonBf16
                            : bf16_from_float(value, Bf16Rounding::nearest_even));
    return device_.copy_in(out_, std::as_bytes(std::span(rounded)));
  }

  MaybeError keep_lse(const LseInScratch& from) {
    auto lse = from.scratch.lse.read_all<float>();
    if (!lse) return lse.error();
    std::vector<float> row(heads_);
    for (const LseInScratch::Row& r : from.rows) {
      const std::size_t first = static_cast<std::size_t>(r.partial) * heads_;
      for (std::size_t head = 0; head < heads_; ++head)
        row[head] = merged_lse(*lse, first + head, from.splits, heads_);
      const Address to = lse_ + static_cast<Address>(r.row) * heads_ * 4;
      if (MaybeError bad = device_.copy_in(to, std::as_bytes(std::span(row)))) return bad;
    }
    return std::nullopt;
  }

  Device& device_;
  KernelHandle kernel_;
  Address out_;
  Address lse_;
  std::size_t heads_;
  Stage1Launch launch_;
  Launches& launches_;
};

class AiterStage1Maker final : public Stage1Maker {
 public:
  AiterStage1Maker(std::shared_ptr<Installation> installation, AiterOptions options)
      : installation_(std::move(installation)), options_(std::move(options)) {}
  [[nodiscard]] Result<std::unique_ptr<Stage1>> make(const Stage1Input& input) const override {
    const ResolvedShape& shape = input.launch.metadata.shape;
    auto selection = select_for(*installation_, shape, options_);
    if (!selection) return selection.error();
    const auto code = installation_->code(shape.arch, selection->row.file);
    if (!code) return code.error();
    const auto kernel = input.device.find_kernel(*code, selection->row.kernel);
    if (!kernel) return kernel.error();
    auto launch = prepare_stage1(input, *selection, options_);
    if (!launch) return launch.error();
    return std::unique_ptr<Stage1>(
        std::make_unique<AiterStage1>(input, *kernel, std::move(*launch)));
  }

 private:
  std::shared_ptr<Installation> installation_;
  AiterOptions options_;
};

// Why AITER ends the call of whole requests that are planned row by row here; nothing if it takes
// it. Engines that plan rows of a causal step do it in place of that call; a step without a mask is
// launched as it is (aiter#4872).
MaybeError why_ended(const Manifest& manifest, const ResolvedShape& shape, DecodeQuery query) {
  if (shape.causal || shape.route != Route::persistent_rows) return std::nullopt;
  PlanKey key = shape.plan_key();
  key.max_qo_len = shape.request_rows;
  const auto whole = resolve_plan_shape(key);
  query.qo_len = shape.request_rows;
  if (whole) query.heads = whole->plan_heads.count();
  const auto found = whole ? select_decode(manifest, query) : Result<Selection>(whole.error());
  if (found) return std::nullopt;
  return Error{ErrorCode::unsupported,
               say("AITER ends a step of ", shape.request_rows,
                   " query rows without a mask: ", found.error().message),
               "BUG-108"};
}

}  // namespace

Result<Selection> select_for(const Installation& installation, const ResolvedShape& shape,
                             const AiterOptions& options) {
  const Manifest* manifest = installation.manifest(shape.arch);
  if (manifest == nullptr)
    return Error{ErrorCode::unsupported,
                 say("the AITER directory has no manifest for ", mla::name(shape.arch))};
  const DecodeQuery query = {.arch = shape.arch,
                             .q = element_type(shape.dtype.q),
                             .kv = element_type(shape.dtype.kv),
                             .heads = shape.row_heads().count(),
                             .qo_len = shape.max_qo_len,
                             .persistent = shape.route != Route::split,
                             .causal = shape.causal,
                             .lse = shape.final_lse,
                             .cprr = !options.global_kv_indptr.empty(),
                             .dialect = dialect_of(*manifest)};
  if (options.row) return select_row(*options.row, query);
  if (const MaybeError ended = why_ended(*manifest, shape, query)) return *ended;
  return select_decode(*manifest, query);
}

std::unique_ptr<Stage1Maker> make_aiter_stage1(std::shared_ptr<Installation> installation,
                                               AiterOptions options) {
  return std::make_unique<AiterStage1Maker>(std::move(installation), std::move(options));
}

}  // namespace mla::hip::aiter
