#include "hip_backend/gfx_emulator/report/progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/say.hpp"

namespace mla::gfx {
namespace {

bool stderr_takes_lines_over() {
  const char* const term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace

bool progress_wanted() {
  const char* const variable = std::getenv("MLA_TESTBED_PROGRESS");
  const std::string_view asked = variable == nullptr ? "" : variable;
  return asked == "1" || (asked != "0" && stderr_takes_lines_over());
}

LaunchProgress::LaunchProgress(std::string kernel, std::uint64_t workgroups)
    : kernel_(std::move(kernel)),
      workgroups_(workgroups),
      terminal_(stderr_takes_lines_over()),
      begin_(Clock::now()),
      due_(begin_ + std::chrono::seconds(2)) {}

LaunchProgress::~LaunchProgress() {
  if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
}

void LaunchProgress::add(std::uint64_t instructions, std::uint64_t workgroups) {
  const std::lock_guard lock(mutex_);
  instructions_ += instructions;
  done_ += workgroups;
  const auto now = Clock::now();
  if (now < due_) return;
  due_ = now + std::chrono::milliseconds(terminal_ ? 200 : 10000);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begin_).count();
  // Names of C++ are longer than a line, which could then not be written over.
  std::string line =
      say("mla-testbed: ", kernel_.substr(0, 30), ": ", done_, " of ", workgroups_, " workgroups, ",
          instructions_ / 1'000'000, " million instructions, ", seconds, " s");
  line = terminal_ ? "\r" + line + "\033[K" : line + "\n";
  std::fputs(line.c_str(), stderr);
  shown_ = true;
}

}  // namespace mla::gfx
