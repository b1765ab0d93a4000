// Owns: the 64-byte kernel descriptor (LLVM AMDGPU usage, "Kernel Descriptor"), and the kernel's
// entry in the metadata note.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hip_backend/gfx_emulator/elf/msgpack.hpp"
#include "hip_backend/gfx_emulator/object/kernel.hpp"

namespace mla::gfx {

constexpr std::size_t kernel_descriptor_size = 64;

// `at` is the descriptor's own offset in the image: the entry point is relative to it.
[[nodiscard]] Kernel read_kernel_descriptor(std::span<const std::byte> bytes, std::uint64_t at);

// Completes kernels with sizes and arguments from the note; unknown kernels are left alone.
void apply_metadata(const Document& note, std::span<Kernel> kernels);

}  // namespace mla::gfx
