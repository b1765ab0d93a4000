// The lines that the tables of all kinds of steps share.
#pragma once

#include <cstdint>
#include <string>

#include "core/case/batch.hpp"
#include "core/shape/head_padding.hpp"

namespace mla::app {

// A label, padded, and what it says.
std::string row(const char* label, const std::string& text);
std::string batch_line(const Batch& batch);
std::string heads_line(const HeadPadding& h);

}  // namespace mla::app
