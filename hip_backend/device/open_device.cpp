#include "hip_backend/device/open_device.hpp"

#include <charconv>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "hip_backend/device/device_per_thread.hpp"
#include "hip_backend/device/null_device.hpp"
#include "hip_backend/device/runtime_device.hpp"

namespace mla::hip {
namespace {

Result<std::unique_ptr<Device>> open_with(Result<RuntimeApi> api, int ordinal) {
  if (!api) return api.error();
  return open_runtime_device(std::move(*api), ordinal);
}

std::unique_ptr<Device> open_emulated(Arch arch, const EmulatedOptions& options) {
  const auto make = [arch, options] { return make_emulated_device(arch, options); };
  return options.one_for_each_thread ? make_device_per_thread(make) : make();
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(std::string_view name) {
  return open_device(name, {});
}

Result<std::unique_ptr<Device>> open_device(std::string_view name,
                                            const EmulatedOptions& emulated) {
  if (name == "null") return make_null_device("the null device runs nothing");
  if (name == "auto") {
    auto amd = open_with(load_amd_runtime(), 0);
    if (amd) return amd;
    auto nvidia = open_with(load_nvidia_runtime(), 0);
    if (nvidia) return nvidia;
    return make_null_device(amd.error().message + "; " + nvidia.error().message);
  }
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  int ordinal = -1;
  if (colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (bad != std::errc{} || end != digits.data() + digits.size()) ordinal = -1;
  }
  if (kind == "emulated" && colon != std::string_view::npos)
    if (const auto arch = arch_from_name(name.substr(colon + 1)))
      return open_emulated(*arch, emulated);
  if (ordinal >= 0 && kind == "hip") return open_with(load_amd_runtime(), ordinal);
  if (ordinal >= 0 && kind == "nvidia") return open_with(load_nvidia_runtime(), ordinal);
  return Error{
      ErrorCode::usage,
      say("device '", name,
          "' is unknown: it is auto, null, hip:<number>, nvidia:<number>, emulated:gfx942 or "
          "emulated:gfx950")};
}

}  // namespace mla::hip
