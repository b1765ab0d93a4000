#include "properties/app/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
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

// Files as a system with control groups has them, below a folder of its own.
class System {
 public:
  System() {
    std::string name = std::filesystem::temp_directory_path() / "mla-testbed-groups.XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 8000 kB\n");
  }
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System() { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  [[nodiscard]] std::int64_t available() const { return app::available_memory(root_.string()); }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("memory: pages of files in a control group are not used up", "[cli]") {
  const System second;
  second.write("proc/self/cgroup", "0::/job\n");
  second.write("sys/fs/cgroup/job/memory.max", "1000000\n");
  second.write("sys/fs/cgroup/job/memory.current", "900000\n");
  CHECK(second.available() == 100'000);
  second.write("sys/fs/cgroup/job/memory.stat",
               "anon 200000\nfile 700000\ninactive_file 600000\nactive_file 50000\n");
  CHECK(second.available() == 750'000);

  const System first;
  first.write("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/job\n");
  first.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000000\n");
  first.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "900000\n");
  first.write(
      "sys/fs/cgroup/memory/job/memory.stat",
      "inactive_file 1\nactive_file 2\ntotal_inactive_file 600000\ntotal_active_file 50000\n");
  CHECK(first.available() == 750'000);
}

TEST_CASE("memory: the limit of any group above this process counts, whatever they are called",
          "[cli]") {
  for (const char* line : {"0::/a:b/c\n", "9:hugetlb,memory:/a:b/c\n"}) {
    const System system;
    const bool second = line[0] == '0';
    const std::string mount = second ? "sys/fs/cgroup" : "sys/fs/cgroup/memory";
    const std::string most = second ? "/memory.max" : "/memory.limit_in_bytes";
    system.write("proc/self/cgroup", line);
    system.write(mount + "/a:b/c" + most, second ? "max\n" : "9223372036854771712\n");
    CHECK(system.available() == 8'000 * 1024);
    system.write(mount + most, "3000000\n");
    CHECK(system.available() == 3'000'000);
    system.write(mount + "/a:b" + most, "2000000\n");
    CHECK(system.available() == 2'000'000);
    system.write(mount + "/a:b/c" + most, "1000000\n");
    CHECK(system.available() == 1'000'000);
  }
}

TEST_CASE("memory: no more is available than the limit of data leaves", "[cli]") {
  rlimit before{};
  getrlimit(RLIMIT_DATA, &before);
  std::int64_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  for (int column = 0; column < 6; ++column) statm >> pages;
  const rlimit less = {static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + kLeft), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_DATA, &less) == 0);
  const std::int64_t left = app::available_memory();
  setrlimit(RLIMIT_DATA, &before);
  CHECK(left > 0);
  CHECK(left <= kLeft);
}

TEST_CASE("memory: no more is available than the limit of the address space leaves", "[cli]") {
  std::int64_t left = 0;
  {
    const AddressSpace limit(address_space() + kLeft);
    REQUIRE(limit.set());
    left = app::available_memory();
  }
  CHECK(left > 0);
  CHECK(left <= kLeft);
}
