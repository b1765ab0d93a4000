// The terminal: who is at the other end of stdout and stderr, and writing that can fail.
//
// Data goes to stdout, everything else to stderr. Colour is used only on a terminal, and never when
// NO_COLOR is set to anything (no-color.org) or TERM is "dumb". Fails: write_stdout() says why when
// stdout does not take the text, except that a reader who left early (`| head`) is no error.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace mla::files {

// A closed pipe, and a file above the limit of `ulimit -f`, shall not kill the process: the write
// fails, and the verdict is still the exit code.
void ignore_write_signals();

[[nodiscard]] MaybeError write_stdout(std::string_view text);
void write_stderr(std::string_view text);

// Reads a whole file; "-" is stdin. What is no regular file may give 1 GiB at most.
[[nodiscard]] Result<std::string> read_file(const std::string& path);
// Reads a file of a folder that a user named. What is no regular file is a usage error: a named
// pipe would wait for a writer who never comes.
[[nodiscard]] Result<std::string> read_regular_file(const std::string& path);

bool stdout_takes_colour();
bool stderr_is_terminal();

enum class Colour { none, red, green, yellow };
// The text in that colour if stdout takes it.
std::string coloured(std::string_view text, Colour colour);

}  // namespace mla::files
