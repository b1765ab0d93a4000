// PrefillShape: every decision about a prefill step, made once from case, batch and capability.
//
// Path, heads, arithmetic, chunk rule: builder, planner, backend and judge read them here. Fields
// of a case that only decode reads (gran, split, page, pad, scale) are refused where they would
// change something, and otherwise without effect. Source: spec vllm_metadata.md 2.1, 2.3, 2.4.
// Fails: cases that are no prefill step, and requests that no engine would schedule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/arch.hpp"
#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/prefill/capability.hpp"
#include "core/engine/prefill/hooks.hpp"
#include "core/result.hpp"
#include "core/shape/head_padding.hpp"

namespace mla::prefill {

inline constexpr std::int64_t kTileRows = 256;    // query rows of a tile of the fp8 plan
inline constexpr std::int64_t kUnitTokens = 128;  // keys that the plan deals out together

enum class Path : std::uint8_t {
  flash,        // varlen flash attention in bf16, context in chunks
  fp8,          // the persistent fp8 kernel, new tokens only
  fp8_context,  // the same kernel for new tokens and, non-causal, for every context chunk
};
std::string_view name(Path path);

enum class ChunkRule : std::uint8_t {
  even,    // the workspace divided over the requests with context; chunks cross all requests
  packed,  // requests one after the other, as much as fits
};

struct PrefillShape {
  Arch arch = Arch::gfx950;
  ComputeUnits compute_units{256};
  Fp8Variant fp8 = Fp8Variant::e4m3fn;
  Path path = Path::flash;
  std::vector<std::string> fallback;  // why not the fp8 kernel; empty on its paths
  HeadPadding heads;                  // to a multiple of 16 for the fp8 kernel, none for flash
  bool causal = true;
  std::int64_t block_size = 1;            // tokens of a block of the block table
  std::int64_t workspace_tokens = 65536;  // context tokens that are gathered together
  ChunkRule rule = ChunkRule::packed;

  // What Q, K, V and the probabilities are rounded to.
  [[nodiscard]] Dtype arithmetic() const { return path == Path::flash ? Dtype::bf16 : Dtype::fp8; }
};

// The platform and the model that a case stands for.
Platform platform_of(const Case& c);
Model model_of(const Case& c);
Capability capability_of(const Case& c, const Hooks& hooks);

// Planner `none` asks for the flash path; `v12` for plans over the context as well.
Result<PrefillShape> resolve_prefill_shape(const Case& c, const Batch& batch, const Hooks& hooks);

}  // namespace mla::prefill
