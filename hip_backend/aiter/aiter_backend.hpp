// The AITER backend: a decode step whose stage 1 is the machine code of an installed AITER.
//
// Metadata, folding, tensors and plan are those of every backend; the kernels come from the
// installation and are selected as AITER selects them. AITER's reduce is no code object of an
// installation: where it was compiled and taken (Installation::take) it merges the partial results,
// otherwise this project's kernel does on the same device, and only stage 1 is on trial. Where the
// OPUS kernel was taken, it runs every stage 1. Of prefill steps those with a plan run, where the
// installation has the kernels (gfx950): their attention, and always this project's reduce. FA
// steps and flash attention do not exist here. Inputs of a decode end where their memory ends: if a
// kernel reads past an input on a device that guards its memory, it runs again with room after that
// input, and the result carries the fault by name. Fails: supports() says why a shape has no
// kernel; run() as execute_decode().
#pragma once

#include <memory>

#include "core/engine/backend.hpp"
#include "hip_backend/aiter/stage1.hpp"

namespace mla::hip::aiter {

std::unique_ptr<Backend> make_aiter_backend(std::shared_ptr<Device> device,
                                            std::shared_ptr<Installation> installation,
                                            AiterOptions options);

}  // namespace mla::hip::aiter
