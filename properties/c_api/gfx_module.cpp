// mla_gfx.h: code objects and what is in them.
#include "core/say.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "properties/c_api/border.hpp"
#include "properties/c_api/gfx_objects.hpp"

namespace {

using mla::c_api::at_border;
using mla::c_api::usage;
using Outcome = std::optional<mla::c_api::Failure>;

const char* text_of(mla::gfx::Arch arch) {
  return arch == mla::gfx::Arch::gfx942 ? "gfx942" : "gfx950";
}

// Looks the kernel up and hands it to `then`.
template <class Then>
Outcome with_kernel(const mla_gfx_module* module, const char* name, Then then) {
  if (module == nullptr || name == nullptr) return usage("parameter 'module' or 'name' is NULL");
  const mla::gfx::Kernel* const kernel = module->object.kernel(name);
  if (kernel == nullptr) {
    return usage(mla::say("the code object has no kernel '", name, "'"));
  }
  return then(*kernel);
}

}  // namespace

extern "C" {

int mla_gfx_load(mla_gfx_device* device, const void* bytes, size_t size, mla_gfx_module** module) {
  return at_border([&]() -> Outcome {
    if (device == nullptr || module == nullptr || (bytes == nullptr && size != 0)) {
      return usage("parameter 'device', 'bytes' or 'module' is NULL");
    }
    *module = nullptr;
    auto object = mla::gfx::load_code_object({static_cast<const std::byte*>(bytes), size}, {});
    if (!object) return mla::c_api::failure_of(object.error());
    if (object->arch() != device->arch) {
      return usage(mla::say("the code object is for ", text_of(object->arch()),
                            ", the device is a ", text_of(device->arch)));
    }
    *module = std::make_unique<mla_gfx_module>(mla_gfx_module{std::move(*object)}).release();
    return std::nullopt;
  });
}

void mla_gfx_unload(mla_gfx_module* module) {
  delete module;
}

const char* mla_gfx_kernel_name(const mla_gfx_module* module, size_t index) {
  if (module == nullptr || index >= module->object.kernels().size()) return nullptr;
  return module->object.kernels()[index].name.c_str();
}

int mla_gfx_kernel_of(const mla_gfx_module* module, const char* name, mla_gfx_kernel* out) {
  return at_border([&] {
    return with_kernel(module, name, [&](const mla::gfx::Kernel& kernel) -> Outcome {
      if (out == nullptr) return usage("parameter 'out' is NULL");
      // Where the note says nothing, what the descriptor reserves is the nearest.
      const bool stated = kernel.stated_vgprs != 0;
      *out = {.lds_size = kernel.group_segment_size,
              .scratch_size = kernel.private_segment_size,
              .kernarg_size = kernel.kernarg_size,
              .max_threads = kernel.max_workgroup_size,
              .vgprs = stated ? kernel.stated_vgprs : kernel.vgprs,
              .agprs = kernel.stated_agprs,
              .sgprs = kernel.stated_sgprs,
              .spilled_vgprs = kernel.spilled_vgprs,
              .spilled_sgprs = kernel.spilled_sgprs,
              .argument_count = static_cast<uint32_t>(kernel.arguments.size())};
      return std::nullopt;
    });
  });
}

int mla_gfx_argument_of(const mla_gfx_module* module, const char* name, size_t index,
                        mla_gfx_argument* out) {
  return at_border([&] {
    return with_kernel(module, name, [&](const mla::gfx::Kernel& kernel) -> Outcome {
      if (out == nullptr) return usage("parameter 'out' is NULL");
      if (index >= kernel.arguments.size()) {
        return usage(mla::say("the kernel ", kernel.name, " has ", kernel.arguments.size(),
                              " arguments, number ", index, " was asked for"));
      }
      const mla::gfx::Argument& argument = kernel.arguments[index];
      *out = {.offset = argument.offset, .size = argument.size, .kind = argument.kind.c_str()};
      return std::nullopt;
    });
  });
}
}
