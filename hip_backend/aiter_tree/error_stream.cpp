#include "hip_backend/aiter_tree/error_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/say.hpp"

namespace mla::hip::aiter_tree {
namespace {

constexpr std::size_t kLongestLine = 4096;  // of what is kept; all of it is passed on

void shut(int& end) {
  if (end >= 0) ::close(std::exchange(end, -1));
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(STDERR_FILENO, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // nobody reads it
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

Result<std::unique_ptr<ErrorStream>> ErrorStream::open() {
  Ends pipe{-1, -1};
  Ends stop{-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0 || ::pipe2(stop.data(), O_CLOEXEC) != 0) {
    const std::string why = std::strerror(errno);
    for (int& end : pipe) shut(end);
    return Error{ErrorCode::fault, "no pipe: " + why};
  }
  ::fcntl(pipe[0], F_SETFL, O_NONBLOCK);  // ours alone: the child's writes wait
  return std::unique_ptr<ErrorStream>(new ErrorStream(pipe, stop));
}

ErrorStream::~ErrorStream() {
  (void)end();
  for (Ends* ends : {&pipe_, &stop_})
    for (int& end : *ends) shut(end);
}

void ErrorStream::begin() {
  shut(pipe_[1]);
  reader_ = std::thread([this] { pass_on(); });
}

std::string ErrorStream::last() {
  const std::lock_guard<std::mutex> mine(turn_);
  while (take()) {
  }
  if (!line_.empty()) last_ = std::exchange(line_, "");
  return std::exchange(last_, "");
}

std::string ErrorStream::end() {
  shut(stop_[1]);
  if (reader_.joinable()) reader_.join();
  return last();
}

void ErrorStream::pass_on() {
  std::array<pollfd, 2> wait{pollfd{pipe_[0], POLLIN, 0}, pollfd{stop_[0], POLLIN, 0}};
  while (wait[1].revents == 0) {
    if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) return;
    const std::lock_guard<std::mutex> mine(turn_);
    while (take()) {
    }
    if ((wait[0].revents & POLLHUP) != 0) return;  // nobody writes any more
  }
}

// Whether there may be more by now.
bool ErrorStream::take() {
  std::array<char, 4096> room{};
  const ssize_t got = ::read(pipe_[0], room.data(), room.size());
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  const std::string_view text(room.data(), static_cast<std::size_t>(got));
  write_all(text);
  for (const char c : text)
    if (c != '\n' && line_.size() < kLongestLine)
      line_ += c;
    else if (c == '\n' && !line_.empty())
      last_ = std::exchange(line_, "");
  return true;
}

std::string refusal_in(std::string_view last_line) {
  constexpr std::string_view kSigned = "[AITER] ";
  if (!last_line.starts_with(kSigned) || last_line.find("[HIP error]") != std::string_view::npos)
    return "";
  return std::string(last_line.substr(kSigned.size()));
}

}  // namespace mla::hip::aiter_tree
