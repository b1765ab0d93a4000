#include "properties/generate/row_widths.hpp"

#include <array>

#include "properties/generate/choices.hpp"
#include "properties/generate/hash.hpp"

namespace mla::prop {
namespace {

constexpr std::uint64_t kWidthSalt = 0x574944544853U;  // "WIDTHS": no other draw of the seed

struct Widths {
  std::int64_t latent = 0;
  std::int64_t rope = 0;
  std::int64_t value = 0;
};

// Without rope, as DeepSeek-V4 has them (the whole row is a value), and as smaller models do.
constexpr std::array<Widths, 4> kOfModels = {
    {{512, 0, 0}, {448, 64, 512}, {448, 64, 0}, {256, 64, 0}}};

}  // namespace

void draw_widths(Case& c, std::uint64_t seed, std::int64_t number) {
  if (c.kind() != StepKind::decode) return;
  RandomChoices choices(mix(mix(seed, kWidthSalt), static_cast<std::uint64_t>(number)));
  if (choices.between(0, 1) == 0) return;
  Widths w;
  if (choices.between(0, 2) > 0) {
    w = kOfModels[static_cast<std::size_t>(choices.between(0, std::ssize(kOfModels) - 1))];
  } else {
    w = {choices.between(1, 80), choices.between(0, 40), 0};
    if (choices.between(0, 1) == 1) w.value = choices.between(1, w.latent + w.rope);
    if (w.value == w.latent) w.value = 0;
  }
  c.decode().latent = w.latent;
  c.decode().rope = w.rope;
  c.decode().value = w.value;
}

}  // namespace mla::prop
