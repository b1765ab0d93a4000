// Result: what happens where the value of an error is asked for.
#include "core/result.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "tests/catch.hpp"

using namespace mla;

namespace {

struct End {
  int signal = 0;
  std::string said;
};

// How a process ends that runs `act`, and what it writes to stderr.
template <class Act>
End end_of(Act act) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    act();
    _exit(0);
  }
  close(ends[1]);
  End end;
  std::array<char, 256> bytes{};
  for (ssize_t n = 0; (n = read(ends[0], bytes.data(), bytes.size())) > 0;)
    end.said.append(bytes.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace

TEST_CASE("result: the value of an error ends the process with the error, in every build") {
  const Result<int> wrong = Error{ErrorCode::usage, "cu=0 is no device"};
  const std::string said = "mla-testbed: a value was asked of an error: cu=0 is no device\n";
  for (const End& end : {end_of([&] { static_cast<void>(*wrong); }),
                         end_of([&] { static_cast<void>(Result<int>(wrong).value()); })}) {
    CHECK(end.signal == SIGABRT);
    CHECK(end.said == said);
  }
  const auto right = [] { static_cast<void>(Result<int>(7).value()); };
  CHECK(end_of(right).signal == 0);
}
