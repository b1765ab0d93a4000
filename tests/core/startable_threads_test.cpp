// Claims about the threads that a process can have. The question remembers its answers, so they are
// asked in one test.
#include "core/startable_threads.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "tests/catch.hpp"

using namespace mla;

TEST_CASE("threads: as many as wanted, then half of those that a limit leaves, then no more",
          "[threads]") {
  CHECK(startable_threads(0) == 1);
  CHECK(startable_threads(3) == 3);
  CHECK(startable_threads(2) == 2);

  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  constexpr std::int64_t kStacks = std::int64_t{100} << 20;  // of 8 MB each
  const rlimit less = {static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + kStacks),
                       before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &less) == 0);
  const int first = startable_threads(400);
  const int again = startable_threads(400);
  setrlimit(RLIMIT_AS, &before);
  CHECK(first >= 1);
  CHECK(first < 100);
  CHECK(again == first);
  CHECK(startable_threads(400) == first);
  CHECK(startable_threads(1 << 30) == first);
}
