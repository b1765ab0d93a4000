// The foot of a page that a command writes: the command, the version, and the day.
//
// Private to properties/cli. The day is that of SOURCE_DATE_EPOCH where it is set, in UTC.
#pragma once

#include <string>
#include <vector>

namespace mla::cli {

// What the command was called with, once at its start.
void remember_command(const std::vector<std::string>& words);

std::string with_foot(std::string page);

}  // namespace mla::cli
