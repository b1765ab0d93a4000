#include "properties/c_api/gfx_interrupt.hpp"

#include <csignal>
#include <mutex>

#include "hip_backend/gfx_emulator/run/interrupt.hpp"

namespace mla::c_api {
namespace {

std::mutex guard;
int alive = 0;
// Read by the handler: written only while the handler is not installed.
struct sigaction before = {};

void on_interrupt(int number, siginfo_t* info, void* context) {
  gfx::launches_should_end = true;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(number);
}

bool ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_interrupt;
}

bool somebody_handles(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

}  // namespace

EndOnInterrupt::EndOnInterrupt() {
  const std::lock_guard lock(guard);
  if (alive++ != 0) return;
  gfx::launches_should_end = false;
  struct sigaction found = {};
  sigaction(SIGINT, nullptr, &found);
  // Without a handler the signal ends the process, or is meant to do nothing: both stay.
  if (ours(found) || !somebody_handles(found)) return;
  before = found;
  struct sigaction action = found;
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

EndOnInterrupt::~EndOnInterrupt() {
  const std::lock_guard lock(guard);
  if (--alive != 0) return;
  struct sigaction found = {};
  sigaction(SIGINT, nullptr, &found);
  if (ours(found)) sigaction(SIGINT, &before, nullptr);
  gfx::launches_should_end = false;
}

}  // namespace mla::c_api
