// SIGINT while a kernel of a HIP program spins: the program has no handler, and ends by the signal.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "program.hpp"
#include "tests/catch.hpp"

namespace {

// How the child ended, or 0 if it still ran after 30 s; then it is killed.
int end_of(pid_t child) {
  int status = 0;
  for (int tick = 0; tick < 300; ++tick) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return 0;
}

}  // namespace

TEST_CASE("SIGINT ends a program whose kernel spins, as it ends a program without a handler") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);  // a shell has what it starts in the background ignore it
    hip_program::spin();
    _exit(0);
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));  // into the kernel
  REQUIRE(kill(child, SIGINT) == 0);
  const int status = end_of(child);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGINT);
}
