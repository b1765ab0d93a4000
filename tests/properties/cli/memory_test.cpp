#include "properties/cli/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "tests/catch.hpp"

using namespace mla;

namespace {

constexpr std::int64_t kLeft = std::int64_t{64} << 20;

std::int64_t address_space() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// The soft limit of the address space, while it lives.
class AddressSpace {
 public:
  explicit AddressSpace(std::int64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit less = {static_cast<rlim_t>(bytes), before_.rlim_max};
    set_ = setrlimit(RLIMIT_AS, &less) == 0;
  }
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;
  ~AddressSpace() { setrlimit(RLIMIT_AS, &before_); }
  [[nodiscard]] bool set() const { return set_; }

 private:
  rlimit before_{};
  bool set_ = false;
};

}  // namespace

TEST_CASE("memory: no more is available than the limit of the address space leaves", "[cli]") {
  std::int64_t left = 0;
  {
    const AddressSpace limit(address_space() + kLeft);
    REQUIRE(limit.set());
    left = cli::available_memory();
  }
  CHECK(left > 0);
  CHECK(left <= kLeft);
}
