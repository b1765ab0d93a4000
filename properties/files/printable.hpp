// Foreign text as a terminal may show it. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace mla::files {

// The text with every character that moves a terminal's cursor, changes its colours or reorders
// what it shows as \xNN, one for each byte: control characters (line breaks among them), marks of
// direction, and bytes that are no UTF-8. For strings from foreign files.
std::string printable(std::string_view text);
// The same for a sentence that may quote them: the middle of a word of more than 200 bytes is left
// out, and said so.
std::string printable_message(std::string_view text);
// The same as printable(), but line breaks stay: for foreign texts of several lines.
std::string printable_lines(std::string_view text);

}  // namespace mla::files
