#include "core/engine/row_map.hpp"

#include <string>

#include "core/say.hpp"

namespace mla {

Result<RowMap> RowMap::make(const DecodeMetadata& metadata) {
  const ResolvedShape& shape = metadata.shape;
  RowMap map;
  map.query_rows_ = metadata.rows().count();
  map.row_heads_ = shape.row_heads().count();
  map.fold_ = shape.fold_ratio();
  map.padding_ = shape.heads;
  const std::int64_t kernel_heads = shape.heads.kernel.count();
  if (map.fold_ * map.row_heads_ != kernel_heads)
    return Error{ErrorCode::fault, say(map.fold_, " groups of ", map.row_heads_,
                                       " heads are not the ", kernel_heads, " kernel heads")};
  if (map.fold_ == 1) return map;
  map.tokens_ = shape.uniform_qo_len;
  if (map.tokens_ < 1)
    return Error{ErrorCode::unsupported,
                 say("heads folded ", map.fold_, " times need requests of equal query length")};
  const std::int64_t expected = metadata.requests().count() * map.tokens_;
  if (map.query_rows_ != expected)
    return Error{ErrorCode::fault, say(map.query_rows_, " query rows are not the ", expected,
                                       " of requests with ", map.tokens_, " rows each")};
  return map;
}

}  // namespace mla
