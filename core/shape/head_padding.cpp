#include "core/shape/head_padding.hpp"

#include <string>

#include "core/arch.hpp"
#include "core/say.hpp"

namespace mla {

HeadPadding pad_heads_to(Heads model, Heads kernel) {
  HeadPadding padding{model, kernel, PadKind::none};
  if (model != kernel)
    padding.kind = kernel.count() % model.count() == 0 ? PadKind::repeat : PadKind::cyclic;
  return padding;
}

Result<HeadPadding> resolve_head_padding(Heads model) {
  if (model.count() < 1 || model.count() > kMaxHeads)
    return Error{ErrorCode::unsupported,
                 say(model.count(), " query heads: kernels take 1 to 128 of one rank")};
  return pad_heads_to(model, Heads(round_up(model.count(), 16)));
}

}  // namespace mla
