// Dialect: what the dispatch of a manifest's time did otherwise than that of 22 August 2026.
//
// An installation has no date. Kernels came together with the dispatch that launches them, so the
// rows tell: each flag says which. Where dispatch changed and the manifest did not, this takes the
// later one. Source: asm_mla.cu from January to August 2026. Fails never.
#pragma once

#include "core/arch.hpp"
#include "hip_backend/aiter/manifest.hpp"

namespace mla::hip::aiter {

struct Dialect {
  // A row for each mask, and a call that says which. Without: every decode kernel has the mask.
  bool asks_for_masks = true;
  // gfx950 with a plan. fp8 of 16 heads and 3 or 4 rows, of 32 and 2 or 3, of 64 and 1 runs on one
  // kernel, which is told the heads of a row (since 6 August).
  bool fp8_on_16x4 = true;
  // fp8 of more packed rows likewise, and all of 128 heads (since 2 June).
  bool fp8_on_32x4 = true;
  // bf16 runs on two kernels (since 12 May), the smallest shapes as well (since 19 June).
  bool bf16_gathered = true;
  bool small_bf16_gathered = true;
  // bf16 of 32 heads and 1 row runs on the larger one (29 May to 19 June).
  bool bf16_32x1_on_32x4 = false;
  // bf16 of 128, 256, ... packed rows: the heads stand where the bytes of a request's rows do now
  // (17 April to 12 May). Such a launch is not imitated.
  bool bf16_heads_as_stride = false;
};

Dialect dialect_of(const Manifest& manifest);

}  // namespace mla::hip::aiter
