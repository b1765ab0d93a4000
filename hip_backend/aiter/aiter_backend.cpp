#include "hip_backend/aiter/aiter_backend.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "core/engine/launch.hpp"
#include "core/engine/whole_cache.hpp"
#include "core/say.hpp"
#include "hip_backend/aiter/opus.hpp"
#include "hip_backend/aiter/prefill.hpp"
#include "hip_backend/decode/decode_execution.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "hip_backend/prefill/prefill_kernels.hpp"

namespace mla::hip::aiter {
namespace {

// What a kernel that rounds its tile up may read after Q: 128 packed rows of bf16 and more.
constexpr std::int64_t kRoomBytes = std::int64_t{1} << 20U;

constexpr std::array<std::pair<Input, const char*>, 3> kInputs = {{
    {kInputQ, "q"},
    {kInputCache, "the cache"},
    {kInputLists, "an index list"},
}};

class AiterBackend final : public Backend {
 public:
  AiterBackend(std::shared_ptr<Device> device, std::shared_ptr<Installation> installation,
               AiterOptions options)
      : device_(std::move(device)),
        installation_(std::move(installation)),
        options_(std::move(options)),
        stage1_(make_aiter_stage1(installation_, options_)) {
    if (const auto arch = arch_from_name(device_->properties().arch);
        arch && !supports_planned_prefill(*installation_, *arch))
      prefill_ = planned_prefill_kernels(
          *arch,
          [device = device_, from = installation_](PrefillInput input) {
            input.direct_lse = true;
            input.timing.seed = input.drawn_timing;
            return prefill_with_plan(*device, *from, input);
          },
          OnError::fault);
    if (const auto code = installation_->opus(); !code.empty()) opus_.emplace(code);
  }

  [[nodiscard]] std::string_view name() const override { return "aiter"; }
  [[nodiscard]] std::string_view device(StepKind kind) const override {
    const bool has = kind == StepKind::decode || (kind == StepKind::prefill && prefill_);
    return has ? device_->properties().label : std::string_view();
  }
  [[nodiscard]] Support supports(const ResolvedShape& shape) const override;
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override;
  [[nodiscard]] std::string timing(std::uint64_t seed) const override {
    return device_->properties().draws_timing ? timing_words(seed) : std::string();
  }
  [[nodiscard]] const prefill::Kernels* prefill_kernels() const override {
    return prefill_ ? &*prefill_ : nullptr;
  }

 private:
  // Of other widths than the kernels have built in; empty if they are taken.
  [[nodiscard]] std::string why_not_these_rows(const ResolvedShape& shape) const;
  [[nodiscard]] Result<DecodeResult> find_overread(const DecodeLaunch& launch,
                                                   const DecodeExecution& execution,
                                                   const Error& fault) const;

  std::shared_ptr<Device> device_;
  std::shared_ptr<Installation> installation_;
  AiterOptions options_;
  std::unique_ptr<Stage1Maker> stage1_;
  std::optional<OpusStage1Maker> opus_;
  std::optional<prefill::Kernels> prefill_;
};

std::string AiterBackend::why_not_these_rows(const ResolvedShape& shape) const {
  std::string why = not_built_in(shape.widths, "AITER's MLA kernels");
  if (why.empty() || !options_.any_width) return why;
  if (!device_->properties().guards_memory)
    return "device " + device_->properties().label + " does not guard its memory: " + why;
  if (shape.widths.value() != kBuiltIn.value() || opus_) return why;
  return {};
}

Support AiterBackend::supports(const ResolvedShape& shape) const {
  const DeviceProperties& device = device_->properties();
  if (device.arch != mla::name(shape.arch))
    return {false, say("a case of ", mla::name(shape.arch), " does not run on device ",
                       device.label, ", whose architecture is '", device.arch, "'")};
  if (code_object(device.arch, "reduce").empty())
    return {false, say("this build has no reduce kernel for ", device.arch, ": ", build_notes())};
  if (options_.as_planned && !device.guards_memory)
    return {false, "device " + device.label + " does not guard its memory from an unchecked plan"};
  if (Support common = common_support(shape); !common.ok) return common;
  if (std::string why = why_not_these_rows(shape); !why.empty()) return {false, std::move(why)};
  if (!is_power_of_two(shape.page_size))
    return {false, say("page size ", shape.page_size, " is not a power of two")};
  if (opus_) {
    if (Support taken = opus_->supports(*device_, shape); !taken.ok) return taken;
  } else if (const auto row = select_for(*installation_, shape, options_); !row) {
    return {false, row.error().message};
  }
  return {true, {}};
}

Result<DecodeResult> AiterBackend::run(const DecodeLaunch& launch,
                                       const ExecutionOptions& options) const {
  if (Support support = supports(launch.metadata.shape); !support.ok)
    return Error{ErrorCode::unsupported, support.reason};
  if (MaybeError bad = check_launch(launch)) return *bad;
  const bool exact = device_->properties().guards_memory && !options_.as_planned;
  const Stage1Maker& stage1 = opus_ ? static_cast<const Stage1Maker&>(*opus_) : *stage1_;
  const DecodeExecution execution = {.run = {.stage1 = stage1,
                                             .sleep_seed = 0,
                                             .whole_cache_bytes = kWholeCacheBytes,
                                             .page_zero_is_zero = true,  // AITER-11
                                             .exact_inputs = exact ? kEveryInput : 0U,
                                             .room_behind_inputs = kRoomBytes,
                                             .as_planned = options_.as_planned,
                                             .record_stages = options.record_stages},
                                     .through_graph = false};
  const TimedLaunches timed(*device_, {options.timing_seed, options.checked});
  Result<DecodeResult> result = execute_decode(*device_, launch, execution);
  if (!result && exact && result.error().code == ErrorCode::fault)
    result = find_overread(launch, execution, result.error());
  // A step without a key has nothing to launch.
  if (result)
    result->launches.add({"aiter", device_->properties().label, StepKind::decode, "stage 1", 0});
  return result;
}

Result<DecodeResult> AiterBackend::find_overread(const DecodeLaunch& launch,
                                                 const DecodeExecution& execution,
                                                 const Error& fault) const {
  DecodeExecution roomy = execution;
  std::string culprit = "several inputs";
  roomy.run.exact_inputs = 0;
  Result<DecodeResult> result = execute_decode(*device_, launch, roomy);
  if (!result) return result;  // it is not the room
  for (const auto& [input, name] : kInputs) {
    roomy.run.exact_inputs = kEveryInput & ~static_cast<unsigned>(input);
    if (!execute_decode(*device_, launch, roomy)) continue;
    culprit = name;
    break;
  }
  result->faults.push_back(
      {"stage 1 reads past the end of " + culprit + ": " + fault.message, -1, -1});
  return result;
}

}  // namespace

std::unique_ptr<Backend> make_aiter_backend(std::shared_ptr<Device> device,
                                            std::shared_ptr<Installation> installation,
                                            AiterOptions options) {
  return std::make_unique<AiterBackend>(std::move(device), std::move(installation),
                                        std::move(options));
}

}  // namespace mla::hip::aiter
