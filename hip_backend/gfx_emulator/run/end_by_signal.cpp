#include "hip_backend/gfx_emulator/run/end_by_signal.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <mutex>

#include "hip_backend/gfx_emulator/run/interrupt.hpp"

namespace mla::gfx {
namespace {

using Action = struct sigaction;

struct Caught {
  int number;
  bool installed = false;
  Action before = {};  // read by the handler: written only while the handler is not installed
};

std::mutex guard;
int alive = 0;
std::array<Caught, 2> all_caught = {{{.number = SIGINT}, {.number = SIGTERM}}};
std::atomic<int> deadly = 0;  // the signal that ends the process

bool has_handler(const Action& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool ignores(const Action& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

void on_signal(int number, siginfo_t* info, void* context) {
  const Action& before = all_caught[number == SIGINT ? 0 : 1].before;
  launches_should_end = true;
  if (!has_handler(before)) {
    deadly = number;
  } else if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else {
    before.sa_handler(number);
  }
}

bool is_ours(const Action& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

void install(Caught& caught, Interrupts handled) {
  Action found = {};
  sigaction(caught.number, nullptr, &found);
  if (is_ours(found) || ignores(found)) return;
  const bool takes_handled = caught.number == SIGINT && handled == Interrupts::end_too;
  if (has_handler(found) && !takes_handled) return;
  caught.before = found;
  Action action = found;
  // Calls of other threads go on as if nothing had come, until the process ends.
  if (!has_handler(found)) action.sa_flags |= SA_RESTART;
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = on_signal;
  sigaction(caught.number, &action, nullptr);
  caught.installed = true;
}

void take_away(Caught& caught) {
  Action found = {};
  sigaction(caught.number, nullptr, &found);
  if (caught.installed && is_ours(found)) sigaction(caught.number, &caught.before, nullptr);
  caught.installed = false;
}

}  // namespace

EndBySignal::EndBySignal(Interrupts handled) {
  const std::lock_guard lock(guard);
  if (alive++ == 0) launches_should_end = false;
  for (Caught& caught : all_caught) install(caught, handled);
}

EndBySignal::~EndBySignal() {
  const std::lock_guard lock(guard);
  if (--alive != 0) return;
  for (Caught& caught : all_caught) take_away(caught);
  // One that came too late for the launch.
  if (const int number = deadly.exchange(0)) std::raise(number);
  launches_should_end = false;
}

void EndBySignal::end_process(const std::string& sentence) const {
  const int number = deadly.load();
  if (number == 0) return;
  const std::lock_guard lock(guard);  // not given back: the first thread ends the process
  std::fprintf(stderr, "mla-testbed: %s\n", sentence.c_str());
  std::fflush(nullptr);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace mla::gfx
