// Claims about text for a terminal: foreign strings cannot move its cursor or fake a line.
#include "properties/files/terminal.hpp"
#include "properties/files/printable.hpp"

#include "tests/catch.hpp"

using mla::files::printable;
using mla::files::printable_message;

TEST_CASE("terminal: control characters of foreign text are escaped", "[cli]") {
  CHECK(printable("a\x1b[31mred\x07\n\r\t\x7f") == "a\\x1B[31mred\\x07\\x0A\\x0D\\x09\\x7F");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  // C1 controls, a mark that turns the direction of text around, a line separator.
  CHECK(printable("\xC2\x85\xC2\x9B") == "\\xC2\\x85\\xC2\\x9B");
  CHECK(printable("\xE2\x80\xAEtxt") == "\\xE2\\x80\\xAEtxt");
  CHECK(printable("\xE2\x80\xA8") == "\\xE2\\x80\\xA8");
}

TEST_CASE("terminal: the middle of a word of more than 200 bytes is left out of a message",
          "[cli]") {
  const std::string longest(200, 'x');
  CHECK(printable_message("'" + longest.substr(3) + "':  a \x1b ") ==
        "'" + longest.substr(3) + "':  a \\x1B ");
  CHECK(printable_message("of '" + longest + "x': expected none") ==
        "of '" + std::string(159, 'x') + "[4 more bytes]" + std::string(38, 'x') +
            "': expected none");
  // No character is cut in two.
  std::string umlauts;
  for (int i = 0; i < 150; ++i) umlauts += "\xC3\xA4";
  for (const char* before : {"", "x"}) {
    const std::string shown = printable_message(before + umlauts);
    CHECK(printable(shown) == shown);
    CHECK(shown.size() < 220);
  }
}

TEST_CASE("terminal: text that shows as it is stays", "[cli]") {
  for (const char* text : {"", "BUG-021: planned for 16 heads",
                           "1/\xE2\x88\x9A"
                           "192",
                           "\xC3\xA9", "\xF0\x9F\x90\xA2", "\xC2\xA0"})
    CHECK(printable(text) == text);
}

TEST_CASE("terminal: bytes that are no UTF-8 are escaped", "[cli]") {
  CHECK(printable("\xFF") == "\\xFF");
  CHECK(printable("a\xC3") == "a\\xC3");
  CHECK(printable("\xE2\x88") == "\\xE2\\x88");
  CHECK(printable("\xC3(") == "\\xC3(");
  CHECK(printable("\x80") == "\\x80");
}
