// What a plan says about words that were not written, and that a copy holds the same words.
//
// `show`, `plan` and `check` print null for such words, and device memory is filled by it. Private
// to properties.
#pragma once

#include <optional>
#include <string>

#include "core/plan/plan.hpp"

namespace mla::prop {

// Every word is written or kPoison, also those before and after a buffer, and the works there; a
// copy of its view has the sizes and the words of the plan. Otherwise a sentence.
std::optional<std::string> misread_words(const plan::Plan& plan);

}  // namespace mla::prop
