// mla_gfx.h: devices and their memory.
#include <cstring>

#include "core/say.hpp"
#include "properties/c_api/border.hpp"
#include "properties/c_api/gfx_objects.hpp"

namespace {

using mla::c_api::at_border;
using mla::c_api::Failure;
using mla::c_api::usage;
using Outcome = std::optional<Failure>;

Outcome outcome_of(const mla::MaybeError& status) {
  if (!status) return std::nullopt;
  return mla::c_api::failure_of(*status);
}

std::string name_of(const char* name) {
  return name == nullptr ? "unnamed" : name;
}

}  // namespace

extern "C" {

int mla_gfx_open(mla_arch arch, mla_gfx_device** device) {
  return at_border([&]() -> Outcome {
    if (device == nullptr) return usage("parameter 'device' is NULL");
    *device = nullptr;
    if (arch != MLA_GFX942 && arch != MLA_GFX950) {
      return usage(mla::say("parameter 'arch' is ", static_cast<int>(arch),
                            "; expected MLA_GFX942 (942) or MLA_GFX950 (950)"));
    }
    auto opened = std::make_unique<mla_gfx_device>();
    opened->arch = arch == MLA_GFX942 ? mla::gfx::Arch::gfx942 : mla::gfx::Arch::gfx950;
    *device = opened.release();
    return std::nullopt;
  });
}

void mla_gfx_close(mla_gfx_device* device) {
  delete device;
}

int mla_gfx_properties_of(const mla_gfx_device* device, mla_gfx_properties* out) {
  return at_border([&]() -> Outcome {
    if (device == nullptr || out == nullptr) return usage("parameter 'device' or 'out' is NULL");
    const bool mi300 = device->arch == mla::gfx::Arch::gfx942;
    *out = {.wave_size = 64,
            .lds_bytes = mi300 ? 65536U : 163840U,
            .compute_units = mi300 ? 304U : 256U,
            .max_threads = 1024};
    return std::nullopt;
  });
}

int mla_gfx_register(mla_gfx_device* device, void* address, size_t size, const char* name,
                     mla_gfx_rights rights) {
  return at_border([&]() -> Outcome {
    if (device == nullptr || address == nullptr) {
      return usage("parameter 'device' or 'address' is NULL");
    }
    const std::span bytes(static_cast<std::byte*>(address), size);
    if (rights == MLA_GFX_READ) {
      return outcome_of(device->memory.add_read_only(bytes, name_of(name)));
    }
    return outcome_of(device->memory.add(bytes, name_of(name), mla::gfx::Rights::read_write));
  });
}

int mla_gfx_allocate(mla_gfx_device* device, size_t size, const char* name, void** address) {
  return at_border([&]() -> Outcome {
    if (device == nullptr || address == nullptr) {
      return usage("parameter 'device' or 'address' is NULL");
    }
    const auto memory = device->memory.allocate(size, name_of(name));
    if (!memory) return mla::c_api::failure_of(memory.error());
    *address = memory->data();
    return std::nullopt;
  });
}

int mla_gfx_release(mla_gfx_device* device, void* address) {
  return at_border([&]() -> Outcome {
    if (device == nullptr) return usage("parameter 'device' is NULL");
    return outcome_of(device->memory.release(address));
  });
}
}
