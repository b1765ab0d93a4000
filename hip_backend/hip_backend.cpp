#include "hip_backend/hip_backend.hpp"

#include <string>
#include <utility>

#include "core/engine/launch.hpp"
#include "core/say.hpp"
#include "hip_backend/decode/decode_execution.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "hip_backend/prefill/prefill_kernels.hpp"

namespace mla::hip {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

class HipBackend final : public Backend {
 public:
  HipBackend(std::shared_ptr<Device> device, const HipOptions& options)
      : device_(std::move(device)), options_(options), prefill_(device_prefill_kernels(device_)) {}

  [[nodiscard]] std::string_view name() const override { return "hip"; }
  [[nodiscard]] std::string_view device(StepKind kind) const override {
    return kind == StepKind::fa ? std::string_view() : device_->properties().label;
  }
  [[nodiscard]] Support supports(const ResolvedShape& shape) const override;
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override;
  [[nodiscard]] std::string timing(std::uint64_t seed) const override {
    if (device_->properties().draws_timing) return timing_words(seed);
    return say("waves that sleep at places drawn from ", seed);
  }
  [[nodiscard]] const prefill::Kernels* prefill_kernels() const override { return &prefill_; }

 private:
  std::shared_ptr<Device> device_;
  HipOptions options_;
  prefill::Kernels prefill_;
};

Support HipBackend::supports(const ResolvedShape& shape) const {
  const DeviceProperties& device = device_->properties();
  if (code_object(device.arch, "decode").empty())
    return {false, "device " + device.label + " is of architecture '" + device.arch +
                       "', for which this build has no code; it has code for " +
                       joined(built_architectures())};
  if (device.platform == Platform::amd && device.arch != mla::name(shape.arch))
    return {false, say("a case of ", mla::name(shape.arch), " does not run on ", device.arch,
                       ": fp8 variant and roundings differ")};
  if (Support common = common_support(shape); !common.ok) return common;
  if (std::string why = not_built_in(shape.widths, "the HIP kernels of this project"); !why.empty())
    return {false, std::move(why)};
  if (!is_power_of_two(shape.page_size))
    return {false, say("page size ", shape.page_size, " is not a power of two")};
  return {true, {}};
}

Result<DecodeResult> HipBackend::run(const DecodeLaunch& launch,
                                     const ExecutionOptions& options) const {
  if (Support support = supports(launch.metadata.shape); !support.ok)
    return Error{ErrorCode::unsupported, support.reason};
  if (MaybeError bad = check_launch(launch)) return *bad;
  const TimedLaunches timed(
      *device_,
      {options.timing_seed != 0 ? options.timing_seed : options.schedule_seed, options.checked});
  Result<DecodeResult> result = execute_decode(
      *device_, launch,
      {.run = {.stage1 = own_stage1(),
               .sleep_seed =
                   static_cast<std::uint32_t>(options.schedule_seed ^ options.schedule_seed >> 32U),
               .whole_cache_bytes = options_.whole_cache_bytes,
               .record_stages = options.record_stages},
       .through_graph = options_.through_graph});
  // A step without a key has nothing to launch.
  if (result)
    result->launches.add({"hip", device_->properties().label, StepKind::decode, "stage 1", 0});
  return result;
}

}  // namespace

std::unique_ptr<Backend> make_hip_backend(std::shared_ptr<Device> device,
                                          const HipOptions& options) {
  return std::make_unique<HipBackend>(std::move(device), options);
}

}  // namespace mla::hip
