#include "core/engine/fa/decode_call.hpp"

#include <string>
#include <utility>

#include "core/say.hpp"

namespace mla::fa {

Result<bool> causal_of(const Layer& layer, const Metadata& md) {
  if (layer.index < md.causal.size()) return bool{md.causal[layer.index]};
  return Error{ErrorCode::refused,
               say("layer ", layer.index, " has no causal flag among ", md.causal.size()),
               "BUG-109"};
}

Result<DecodeCall> decode_call(const Layer& layer, const Metadata& md) {
  const auto causal = causal_of(layer, md);
  if (!causal) return causal.error();
  const std::int64_t rows = md.decode ? md.decode->max_query_len : 0;
  auto route = route_decode(layer, *causal, rows);
  if (!route) return route.error();
  const auto entries = static_cast<std::size_t>(md.num_decodes.count()) + 1;
  return DecodeCall{.route = std::move(*route),
                    .cu_seqlens_q = md.query_start_loc.subview(0, entries),
                    .max_seqlen_q = rows};
}

}  // namespace mla::fa
