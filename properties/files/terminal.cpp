#include "properties/files/terminal.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "core/say.hpp"

namespace mla::files {
namespace {

constexpr std::size_t kMostOfNoFile = std::size_t{1} << 30;  // bytes of a pipe or a device

bool variable_is(const char* name, std::string_view value) {
  const char* text = std::getenv(name);
  return text != nullptr && value == text;
}

bool colour_allowed() {
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && !variable_is("TERM", "dumb");
}

Error fault(const std::string& what, int number) {
  return {ErrorCode::fault, what + ": " + std::strerror(number)};
}

MaybeError write_all(std::FILE* file, std::string_view text, const std::string& what) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (written && std::fflush(file) == 0) return std::nullopt;
  if (errno == EPIPE) return std::nullopt;  // the reader has what it wanted
  return fault("cannot write " + what, errno);
}

// Bytes of the UTF-8 character that the text begins with; 0 if it is none, or not to be shown.
std::size_t printable_prefix(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t point = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) return 0;
    point = point << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  const auto within = [point](std::uint32_t a, std::uint32_t z) {
    return a <= point && point <= z;
  };
  const bool hidden =
      within(0, 0x9F) || within(0x200E, 0x200F) || within(0x2028, 0x202E) || within(0x2066, 0x2069);
  return hidden ? 0 : length;
}

}  // namespace

void ignore_write_signals() {
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
}

MaybeError write_stdout(std::string_view text) {
  return write_all(stdout, text, "to stdout");
}

void write_stderr(std::string_view text) {
  // There is no other place to say it when stderr does not take it.
  (void)write_all(stderr, text, "to stderr");
}

Result<std::string> read_regular_file(const std::string& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) == 0 && !S_ISREG(file.st_mode))
    return Error{ErrorCode::usage, "'" + path + "' is not a regular file"};
  return read_file(path);
}

namespace {

// Appends all that the open file gives.
MaybeError read_all(std::FILE* file, const std::string& path, std::string& text) try {
  struct stat kind{};
  const bool known = ::fstat(::fileno(file), &kind) == 0 && S_ISREG(kind.st_mode);
  if (known) text.reserve(static_cast<std::size_t>(kind.st_size));
  std::array<char, 65536> chunk{};
  errno = 0;
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), file)) {
    if (!known && text.size() + n > kMostOfNoFile)
      return Error{ErrorCode::fault,
                   say("'", path, "' is no file and gave more than ", kMostOfNoFile >> 30, " GiB")};
    text.append(chunk.data(), n);
  }
  if (std::ferror(file) == 0) return std::nullopt;
  return fault("cannot read '" + path + "'", errno != 0 ? errno : EIO);
} catch (const std::exception&) {  // bad_alloc, or length_error for a size of petabytes
  return fault("cannot read '" + path + "'", ENOMEM);
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) return fault("cannot read '" + path + "'", errno);
  std::string text;
  const MaybeError bad = read_all(file, path, text);
  if (file != stdin) std::fclose(file);
  if (bad) return *bad;
  return text;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = printable_prefix(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      std::array<char, 5> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02X", static_cast<unsigned char>(text[0]));
      out += escape.data();
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string printable_message(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  constexpr std::size_t kEnd = 40;  // of a word, as with the quote and colon after a value
  const std::string shown = printable(text);
  const auto begins_character = [&shown](std::size_t at) {
    return (static_cast<unsigned char>(shown[at]) & 0xC0U) != 0x80U;
  };
  std::string out;
  for (std::size_t begin = 0; begin < shown.size();) {
    const std::size_t end = std::min(shown.find(' ', begin), shown.size());
    std::size_t head = end;
    std::size_t tail = end;
    if (end - begin > kLongest) {
      head = begin + kLongest - kEnd;
      tail = end - kEnd;
      while (!begins_character(head)) --head;
      while (!begins_character(tail)) ++tail;
    }
    out += shown.substr(begin, head - begin);
    if (tail > head) out += say("[", tail - head, " more bytes]", shown.substr(tail, end - tail));
    if (end < shown.size()) out += ' ';
    begin = end + 1;
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    out += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return out + printable(text);
}

bool stdout_takes_colour() {
  return isatty(STDOUT_FILENO) != 0 && colour_allowed();
}

bool stderr_is_terminal() {
  return isatty(STDERR_FILENO) != 0 && !variable_is("TERM", "dumb");
}

std::string coloured(std::string_view text, Colour colour) {
  if (colour == Colour::none || !stdout_takes_colour()) return std::string(text);
  const char* code = colour == Colour::red ? "31" : colour == Colour::green ? "32" : "33";
  return say("\033[", code, "m", text, "\033[0m");
}

}  // namespace mla::files
