// Lines and JSON that cross the border.
//
// Private to properties/c_api. Fails: a NULL where a text or a place for one has to be.
#pragma once

#include <string>

#include "core/case/case.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api {

Result<Case> case_of(const char* line);

// Keeps the text for this thread and says where it is.
std::optional<Failure> answer(const char** out, std::string text);

}  // namespace mla::c_api
