// Suggestions for mistyped words: the one place that decides what "nearly" means.
//
// A suggestion must be likely, or it misleads: at most one edit (a letter more, less, other, or two
// swapped) for every three letters of the word, upper and lower case being the same. A digit never
// stands for another digit, since 'P99' is not a misspelt 'P09'.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mla {

// The word of `known` that is nearest to `word`, the first of several; empty if none is near.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);

// "; did you mean 'heads'?", or "; there are heads, block, cu" where nothing is near.
std::string did_you_mean_or_all(std::string_view word, std::span<const std::string_view> known);

// "; did you mean 'heads'?" to put after a complaint about `word`, or an empty text.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace mla
