#include "properties/c_api/device.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "core/say.hpp"
#include "hip_backend/device/open_device.hpp"
#include "hip_backend/gfx_emulator/run/run_words.hpp"
#include "properties/c_api/backend.hpp"

namespace mla::c_api {
namespace {

struct Slot {
  std::mutex mutex;
  std::unique_ptr<hip::Device> device;
};

// Slots stay where they are once they exist.
Slot& slot_of(const std::string& device) {
  static std::mutex mutex;
  static std::map<std::string, Slot> slots;
  const std::scoped_lock lock(mutex);
  return slots[device];
}

std::optional<Failure> run_on(const std::string& label, Arch arch,
                              const std::function<MaybeError(hip::Device&)>& body) {
  Slot& slot = slot_of(label);
  const std::scoped_lock lock(slot.mutex);
  if (slot.device == nullptr) {
    const auto run = gfx::run_of_environment();
    if (!run) return failure_of(run.error());
    auto opened = hip::open_device(label, {.run = *run});
    if (!opened) return not_there(opened.error());
    slot.device = std::move(*opened);
  }
  const hip::DeviceProperties& properties = slot.device->properties();
  if (properties.arch != name(arch))
    return Failure{
        properties.arch.empty() ? MLA_DEVICE : MLA_UNSUPPORTED,
        say("device '", label, "' is ", properties.arch.empty() ? "none" : "a " + properties.arch,
            "; the call is for ", name(arch)),
        "", ""};
  const MaybeError bad = body(*slot.device);
  if (!bad) return std::nullopt;
  Failure failure = failure_of(*bad);
  if (bad->code == ErrorCode::fault) {
    failure.report = bad->message + "\n";
    slot.device.reset();  // everything on it is gone; the next call opens it again
  }
  return failure;
}

std::string emulated(Arch arch) {
  return say("emulated:", name(arch));
}

}  // namespace

std::optional<Failure> on_chosen_device(Arch arch,
                                        const std::function<MaybeError(hip::Device&)>& body) {
  const std::string chosen = chosen_device();
  return run_on(chosen.empty() ? emulated(arch) : chosen, arch, body);
}

std::optional<Failure> on_emulated_device(Arch arch,
                                          const std::function<MaybeError(hip::Device&)>& body) {
  return run_on(emulated(arch), arch, body);
}

}  // namespace mla::c_api
