#include "properties/cli/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "hip_backend/gfx_emulator/run/interrupt.hpp"
#include "properties/capture/output_file.hpp"

namespace mla::cli {
namespace {

// `timeout` signals the command and then its whole group, so that one request comes twice.
constexpr std::int64_t kOneRequest = 500'000'000;  // nanoseconds

std::atomic<bool> launches_end = false;
std::atomic<std::int64_t> first = 0;  // when the first signal came; 0: none did
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t nanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Async-signal-safe: an atomic number, clock_gettime(), write(), unlink(), and signals.
void on_signal(int number) {
  const int error = errno;
  const std::int64_t now = nanoseconds();
  std::int64_t before = 0;
  if (!first.compare_exchange_strong(before, now)) {
    if (number == SIGHUP || now - before < kOneRequest) return;
    remove_ready_files();
    std::signal(number, SIG_DFL);
    std::raise(number);  // delivered when this handler returns
  } else if (launches_end.load()) {
    gfx::launches_should_end = true;
  } else {
    constexpr std::string_view kText =
        "\nmla-testbed: interrupted; the reports follow after the current property. "
        "Another signal, half a second later or more, ends at once\n";
    // There is no other place to say it when stderr does not take it.
    if (write(STDERR_FILENO, kText.data(), kText.size()) < 0) errno = 0;
  }
  errno = error;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // writes go on where they were
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
  struct sigaction inherited = {};
  sigaction(SIGHUP, nullptr, &inherited);
  if (inherited.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

void end_launches_on_interrupt() {
  launches_end = true;
  catch_interrupts();
}

bool interrupted() {
  return first.load() != 0;
}

}  // namespace mla::cli
