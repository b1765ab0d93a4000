#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "core/units.hpp"
#include "hip_backend/decode/decode_kernel.hpp"
#include "hip_backend/decode/stage1.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "hip_backend/kernels/layout.hpp"

namespace mla::hip {
namespace {

constexpr std::int64_t kMostStage1Groups = 64;

// What the host has to know of a layout.
struct Choice {
  int rows = 0;
  int threads = 0;
  std::uint32_t lds_bytes = 0;  // that the launch asks for
};
Choice choice_of(const WaveLayout& l) {
  return {.rows = l.rows, .threads = l.threads, .lds_bytes = 0};
}
Choice choice_of(const DecodeLayout& l) {
  return {.rows = l.rows,
          .threads = l.threads,
          .lds_bytes = static_cast<std::uint32_t>(nvidia_decode_lds_bytes(l))};
}

// The layout with the fewest rows that holds a whole work, or else the largest.
template <class Layout>
Choice choose(std::span<const Layout> layouts, std::int64_t packed_rows) {
  for (const Layout& layout : layouts)
    if (layout.rows >= packed_rows) return choice_of(layout);
  return choice_of(layouts.back());
}

Choice choose_layout(const DeviceProperties& device, DtypePair dtype, std::int64_t packed_rows) {
  if (device.platform != Platform::amd)
    return choose(std::span<const DecodeLayout>(kNvidiaLayouts), packed_rows);
  const bool few_registers =
      dtype.q == Dtype::bf16 && (dtype.kv == Dtype::fp8 || device.arch == "gfx942");
  return choose(std::span<const WaveLayout>(kWaveLayouts).first(few_registers ? 2 : 3),
                packed_rows);
}

class OwnStage1 final : public Stage1 {
 public:
  OwnStage1(Device& device, KernelHandle kernel, const LaunchSize& size,
            const DecodeArguments& arguments, Launches& launches)
      : device_(device), kernel_(kernel), size_(size), arguments_(arguments), launches_(launches) {}
  MaybeError run(StreamHandle stream) override {
    if (MaybeError bad = device_.launch(stream, kernel_, size_, argument_bytes(arguments_)))
      return bad;
    launches_.add({"hip", device_.properties().label, StepKind::decode, "stage 1"});
    return std::nullopt;
  }
  MaybeError finish() override { return std::nullopt; }

 private:
  Device& device_;
  KernelHandle kernel_;
  LaunchSize size_;
  DecodeArguments arguments_;
  Launches& launches_;
};

class OwnStage1Maker final : public Stage1Maker {
 public:
  [[nodiscard]] Result<std::unique_ptr<Stage1>> make(const Stage1Input& input) const override {
    const ResolvedShape& shape = input.launch.metadata.shape;
    const DeviceProperties& device = input.device.properties();
    const std::int64_t packed = input.admission.longest * input.rows.row_heads();
    const std::size_t works = shape.route == Route::split ? input.admission.skip.size()
                                                          : input.admission.skip_slot.size();
    const DecodeKernel chosen =
        decode_kernel(device, shape.dtype, packed, static_cast<std::int64_t>(works));
    DecodeArguments arguments = input.buffers;
    arguments.row_groups = chosen.row_groups;
    const auto handle = input.device.find_kernel(code_object(device.arch, "decode"), chosen.name);
    if (!handle) return handle.error();
    return std::unique_ptr<Stage1>(
        new OwnStage1(input.device, *handle, chosen.size, arguments, input.launches));
  }
};

}  // namespace

DecodeKernel decode_kernel(const DeviceProperties& device, DtypePair dtype,
                           std::int64_t packed_rows, std::int64_t workgroups) {
  const Choice chosen = choose_layout(device, dtype, packed_rows);
  const std::int64_t groups =
      std::clamp<std::int64_t>(ceil_div(packed_rows, chosen.rows), 1, kMostStage1Groups);
  return {.name = say("decode_", name(dtype.q), "_", name(dtype.kv), "_r", chosen.rows),
          .size = {.grid_x = static_cast<std::uint32_t>(workgroups),
                   .grid_y = static_cast<std::uint32_t>(groups),
                   .threads = static_cast<std::uint32_t>(chosen.threads),
                   .lds_bytes = chosen.lds_bytes},
          .row_groups = static_cast<int>(groups)};
}

const Stage1Maker& own_stage1() {
  static const OwnStage1Maker maker;
  return maker;
}

}  // namespace mla::hip
