// Words and numbers of the case line, shared by its reader and its writer. Private to core/case.
#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/case/case.hpp"

namespace mla::text {

inline constexpr std::string_view kVersion = "mla1";

template <class E, std::size_t N>
using Words = std::array<std::pair<E, std::string_view>, N>;

inline constexpr Words<Layout, 5> kLayouts{{{Layout::contiguous, "contiguous"},
                                            {Layout::shuffled, "shuffled"},
                                            {Layout::interleaved, "interleaved"},
                                            {Layout::descending, "descending"},
                                            {Layout::prefix, "prefix"}}};
inline constexpr Words<Distribution, 5> kDistributions{{{Distribution::normal, "normal"},
                                                        {Distribution::spiky, "spiky"},
                                                        {Distribution::large, "large"},
                                                        {Distribution::constant, "constant"},
                                                        {Distribution::onehot, "onehot"}}};
inline constexpr Words<TailFill, 4> kTailFills{{{TailFill::minus_one, "minus1"},
                                                {TailFill::stale, "stale"},
                                                {TailFill::random, "random"},
                                                {TailFill::huge, "huge"}}};
inline constexpr Words<PlannerChoice, 7> kPlanners{{{PlannerChoice::automatic, "auto"},
                                                    {PlannerChoice::v12, "v12"},
                                                    {PlannerChoice::v12_serial, "v12serial"},
                                                    {PlannerChoice::v12_parallel, "v12parallel"},
                                                    {PlannerChoice::v11, "v11"},
                                                    {PlannerChoice::v10, "v10"},
                                                    {PlannerChoice::none, "none"}}};

inline constexpr Words<StepKind, 3> kKinds{
    {{StepKind::decode, "decode"}, {StepKind::prefill, "prefill"}, {StepKind::fa, "fa"}}};

template <class E, std::size_t N>
constexpr std::string_view word(const Words<E, N>& words, E value) {
  for (const auto& [v, w] : words)
    if (v == value) return w;
  return {};
}

template <class E, std::size_t N>
constexpr std::optional<E> value_of(const Words<E, N>& words, std::string_view text) {
  for (const auto& [v, w] : words)
    if (w == text) return v;
  return std::nullopt;
}

// Whether the layout's parameter means anything (a seed, a number of shared blocks).
constexpr bool has_parameter(Layout layout) {
  return layout == Layout::shuffled || layout == Layout::prefix;
}

// The whole of `text` as a number; no sign for unsigned types, no blanks, no trailing characters.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace mla::text
