// Lines and JSON that cross the border.
//
// Private to properties/python/abi. Fails: a NULL where a text or a place for one has to be.
#pragma once

#include <string>

#include "core/case/case.hpp"
#include "properties/python/abi/border.hpp"

namespace mla::abi {

Result<Case> case_of(const char* line);

// Keeps the text for this thread and says where it is.
std::optional<Failure> answer(const char** out, std::string text);

}  // namespace mla::abi
