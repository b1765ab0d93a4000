#include "core/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/say.hpp"

namespace mla {
namespace {

// Longer words are no typos, and their distances would cost the square of their length.
constexpr std::size_t kLongest = 64;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Optimal string alignment: insertions, deletions, substitutions, swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> cells((a.size() + 1) * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
    return cells[i * columns + j];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = lower(a[i - 1]);
      const char y = lower(b[j - 1]);
      const std::size_t other = x == y ? 0 : is_digit(x) && is_digit(y) ? kLongest : 1;
      std::size_t& cell = at(i, j);
      cell = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + other});
      if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y && !is_digit(x))
        cell = std::min(cell, at(i - 2, j - 2) + 1);
    }
  return at(a.size(), b.size());
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kLongest) return {};
  std::string_view nearest;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    // A word of one letter is near to everything.
    if (word.size() < 2 || candidate.size() > kLongest) continue;
    const std::size_t edits = distance(word, candidate);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view nearest = nearest_word(word, known);
  return nearest.empty() ? "" : say("; did you mean '", nearest, "'?");
}

std::string did_you_mean_or_all(std::string_view word, std::span<const std::string_view> known) {
  std::string text = did_you_mean(word, known);
  if (!text.empty()) return text;
  for (const std::string_view one : known)
    text.append(text.empty() ? "; there are " : ", ").append(one);
  return text;
}

}  // namespace mla
