#include "core/row_widths.hpp"

#include "core/say.hpp"

namespace mla {

std::string text_of(const RowWidths& w) {
  std::string out = say(w.latent().count(), " + ", w.rope().count());
  if (w.value().count() != w.latent().count()) out += say(" with values of ", w.value().count());
  return out;
}

std::string impossible(const RowWidths& w) {
  if (w.latent().count() < 1)
    return say("the latent width ", w.latent().count(), " is not positive");
  if (w.rope().count() < 0) return say("the rope width ", w.rope().count(), " is negative");
  const std::int64_t key = w.key().count();
  if (key > kMostKeyDims)
    return say("latent width ", w.latent().count(), " and rope width ", w.rope().count(),
               " make rows of ", key, " elements: expected at most ", kMostKeyDims);
  if (w.value().count() < 1 || w.value().count() > key)
    return say("the value width ", w.value().count(), " is not in a row of ", key, " elements");
  if (w.value().count() > kMostValueDims)
    return say("the value width ", w.value().count(), " is more than ", kMostValueDims);
  return {};
}

std::string not_built_in(const RowWidths& w, std::string_view kernels) {
  if (w.same_tensors(kBuiltIn)) return {};
  return say(kernels, " have rows of ", text_of(kBuiltIn), " built in, not ", text_of(w));
}

}  // namespace mla
