#include "properties/cli/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace mla::cli {
namespace {

std::atomic<bool> came = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// Async-signal-safe: an atomic flag, write(), and signals.
void on_signal(int number) {
  const int error = errno;
  if (came.exchange(true)) {
    if (number == SIGHUP) return;
    std::signal(number, SIG_DFL);
    std::raise(number);  // delivered when this handler returns
  } else {
    constexpr std::string_view kText =
        "\nmla-testbed: interrupted; the reports follow after the current property. A second "
        "signal "
        "ends at once\n";
    // Nobody is left to be told when stderr does not take it.
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

bool interrupted() {
  return came.load();
}

}  // namespace mla::cli
