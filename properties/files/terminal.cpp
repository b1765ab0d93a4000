#include "properties/files/terminal.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
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
