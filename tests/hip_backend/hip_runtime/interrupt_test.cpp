// A kernel of a HIP program that spins: signals, the instruction limit, and the progress.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "hip_backend/gfx_emulator/run/instruction_limit.hpp"
#include "program.hpp"
#include "tests/catch.hpp"

namespace {

constexpr const char* begins = "spinning\n";  // what the program writes first

struct Ended {
  int status = 0;  // -1: it still ran after 30 s, and was killed
  std::string stderr_text;
};

// A program of its own spins, with the environment of this one. After some seconds it gets the
// signal, if there is one.
Ended end_of_spinning(int number, int seconds) {
  std::FILE* const written = std::tmpfile();
  REQUIRE(written != nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(fileno(written), STDERR_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    execl("/proc/self/exe", "spinning", "a kernel that spins", nullptr);
    _exit(127);
  }
  struct stat file = {};
  for (int tick = 0; tick < 300 && file.st_size == 0; ++tick) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    fstat(fileno(written), &file);
  }
  std::this_thread::sleep_for(std::chrono::seconds(seconds));  // into the kernel
  if (number != 0) REQUIRE(kill(child, number) == 0);
  Ended out;
  bool ended = false;
  for (int tick = 0; tick < 300 && !ended; ++tick) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ended = waitpid(child, &out.status, WNOHANG) == child;
  }
  if (!ended) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    out.status = -1;
  }
  std::rewind(written);
  for (int c = 0; (c = std::fgetc(written)) != EOF;) out.stderr_text += static_cast<char>(c);
  std::fclose(written);
  return out;
}

}  // namespace

// Only by its name, in a program of its own.
TEST_CASE("a kernel that spins", "[.]") {
  // Catch handles both, and a shell has what it starts in the background ignore SIGINT.
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_DFL);
  std::fputs(begins, stderr);
  hip_program::spin();
}

TEST_CASE("A signal ends a program whose kernel spins, which says where the waves were") {
  for (const int number : {SIGINT, SIGTERM}) {
    const Ended ended = end_of_spinning(number, 1);
    INFO(ended.stderr_text);
    REQUIRE(WIFSIGNALED(ended.status));
    REQUIRE(WTERMSIG(ended.status) == number);
    REQUIRE(ended.stderr_text.starts_with(std::string(begins) + "mla-testbed: kernel '"));
    REQUIRE(ended.stderr_text.find("was interrupted: workgroup (2,0,0) wave 0 had executed ") !=
            std::string::npos);
    REQUIRE(ended.stderr_text.find(" instructions and stood at ") != std::string::npos);
  }
}

TEST_CASE("A launch above two seconds says how far it is where that is asked for") {
  setenv("MLA_TESTBED_PROGRESS", "1", 1);
  const Ended ended = end_of_spinning(SIGTERM, 4);
  unsetenv("MLA_TESTBED_PROGRESS");
  INFO(ended.stderr_text);
  REQUIRE(ended.stderr_text.find(": 2 of 3 workgroups, ") != std::string::npos);
  REQUIRE(ended.stderr_text.find(" million instructions, 2 s\n") != std::string::npos);
  REQUIRE(end_of_spinning(SIGTERM, 4).stderr_text.find(" workgroups, ") == std::string::npos);
}

TEST_CASE("A kernel that spins ends at the instruction limit, which the sentence names") {
  setenv(mla::gfx::limit_variable, "1000", 1);
  const Ended ended = end_of_spinning(0, 0);
  unsetenv(mla::gfx::limit_variable);
  INFO(ended.stderr_text);
  REQUIRE(WIFEXITED(ended.status));
  REQUIRE(ended.stderr_text.find("instruction-limit: workgroup (2,0,0) wave 0 ") !=
          std::string::npos);
  REQUIRE(ended.stderr_text.find(
              "the wave has executed 1000 instructions, which is the limit; "
              "MLA_TESTBED_INSTRUCTION_LIMIT=N in the environment changes it, 0 takes it away") !=
          std::string::npos);
}

TEST_CASE("The usual instruction limit is that of the environment, else a thousand millions") {
  const char* const variable = mla::gfx::limit_variable;
  unsetenv(variable);
  REQUIRE(mla::gfx::usual_instruction_limit().value() == 1'000'000'000);
  setenv(variable, "0", 1);
  REQUIRE(mla::gfx::usual_instruction_limit().value() == 0);
  setenv(variable, "70", 1);
  REQUIRE(mla::gfx::usual_instruction_limit().value() == 70);
  setenv(variable, "7O", 1);
  const auto wrong = mla::gfx::usual_instruction_limit();
  unsetenv(variable);
  REQUIRE(!wrong);
  REQUIRE(
      wrong.error().message ==
      "MLA_TESTBED_INSTRUCTION_LIMIT is '7O'; expected a number of instructions, 0 for no limit");
}
