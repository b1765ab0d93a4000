// Layer: what the AITER FA backend knows about one attention layer, and which kernel decodes it.
//
// Grouped-query attention: `heads` query heads share `kv_heads` KV heads in runs of equal length.
// The route is decided here and nowhere else: a copy of the rule without its window term is how
// sliding-window models went wrong twice (BUG-093, BUG-119). Source: spec vllm_metadata.md 3.1,
// 3.3. Units: heads, elements, keys. Fails: shapes that no kernel takes are refused with a reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/case/case.hpp"
#include "core/paging/block_size.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace mla::fa {

struct Layer {
  std::size_t index = 0;  // within its group: which causal flag of the metadata is its own
  Heads heads{8};
  Heads kv_heads{1};
  std::int64_t head_dim = 128;
  std::int64_t block_size = 16;  // tokens
  std::int64_t window = -1;      // keys to the left of a row's own; -1: all
  [[nodiscard]] std::int64_t group() const { return heads.count() / kv_heads.count(); }
};

// What the backend advertises to the cache manager, and what its kernels address: one list.
SupportedSizes supported_block_sizes();

// The layer of a case of kind fa.
Result<Layer> resolve_layer(const Case& c);

enum class DecodeKernel : std::uint8_t {
  paged_attention_v1,  // one row a request, whole context
  unified_attention,   // any rows, windows; masks causally
};
std::string_view name(DecodeKernel kernel);

struct DecodeRoute {
  DecodeKernel kernel = DecodeKernel::paged_attention_v1;
  std::string reason;  // why this one
};

// The kernel for decodes of up to `max_query_len` rows; an error if it does not take them.
Result<DecodeRoute> route_decode(const Layer& layer, bool causal, std::int64_t max_query_len);

// What stands against running prefills and extends of the layer.
MaybeError refuse_varlen(const Layer& layer, bool causal);

// paged_attention_v1 lets four waves take 16 elements of a head each, once for every 64 elements: a
// smaller head is never written (BUG-093).
inline constexpr std::int64_t kPagedHeadStep = 64;
// Query heads that share a KV head in one workgroup of paged_attention_v1, at most.
inline constexpr std::int64_t kPagedGroup = 16;

}  // namespace mla::fa
