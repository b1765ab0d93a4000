// The code object of one architecture in what compilers write: a code object, or clang's bundle of
// several. Private to hip_runtime.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/isa/traits.hpp"

namespace mla::hip_runtime {

// `arch`: which one to take of several; nothing: the first that the emulator has. Fails:
// unsupported, with the architectures that there are; usage for what is neither, or ends too early.
Result<std::span<const std::byte>> image_in(std::span<const std::byte> file,
                                            std::optional<gfx::Arch> arch);
// The same of an image in memory that says itself how long it is.
Result<std::span<const std::byte>> image_at(const std::byte* image, std::optional<gfx::Arch> arch);

}  // namespace mla::hip_runtime
