// Claims about text for a terminal: foreign strings cannot move its cursor or fake a line.
#include "properties/capture/terminal.hpp"

#include "tests/catch.hpp"

using mla::cli::printable;

TEST_CASE("terminal: control characters of foreign text are escaped", "[cli]") {
  CHECK(printable("a\x1b[31mred\x07\n\r\t\x7f") == "a\\x1B[31mred\\x07\\x0A\\x0D\\x09\\x7F");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  // C1 controls, a mark that turns the direction of text around, a line separator.
  CHECK(printable("\xC2\x85\xC2\x9B") == "\\xC2\\x85\\xC2\\x9B");
  CHECK(printable("\xE2\x80\xAEtxt") == "\\xE2\\x80\\xAEtxt");
  CHECK(printable("\xE2\x80\xA8") == "\\xE2\\x80\\xA8");
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
