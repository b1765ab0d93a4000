// Failure pages: verdicts and failures of a run, a replay or a check, as one HTML page.
//
// The pictures of a failing case are those of failure_pictures.hpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "properties/app/backends.hpp"
#include "properties/app/report.hpp"
#include "properties/show/document.hpp"

namespace mla::app {

// What failed, why, the command that repeats it, and from what the case was made smaller.
show::Section failure_section(const prop::Failure& failure);

// A block of text, and a command with a button that copies it.
std::string block_html(const std::string& text);
std::string command_html(const std::string& command);

// Each failure with its pictures as long as the page stays below 4 MB, then the verdict tables.
// `backends` are those of the summary, in its order.
std::string run_page(const RunSummary& summary, const std::vector<NamedBackend>& backends);

}  // namespace mla::app
