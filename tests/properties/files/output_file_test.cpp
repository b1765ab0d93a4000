// Claims about files on their way: one that never takes its name leaves no file, whatever
// ends the process.
#include "properties/files/output_file.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "properties/cli/interrupt.hpp"
#include "tests/catch.hpp"

using mla::files::ReadyFile;
namespace fs = std::filesystem;

namespace {

// A folder with a file `old`, removed at the end.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "mla-output.XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
    std::ofstream(file()) << "old";
  }
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] std::string file() const { return path_ + "/old"; }
  [[nodiscard]] std::string text() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::ptrdiff_t count() const {
    return std::distance(fs::directory_iterator(path_), {});
  }

 private:
  std::string path_;
};

// What became of a child that has two files ready and does `end`.
int status_of(const Folder& folder, void (*begin)(), void (*end)()) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
    begin();
    const auto one = ReadyFile::write(folder.file(), "new");
    const auto two = ReadyFile::write(folder.file() + "2", "new");
    if (!one || !two || folder.count() != 3) _exit(1);
    end();
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("output file: a text takes the name, or goes away", "[cli]") {
  const Folder folder;
  {
    const auto file = ReadyFile::write(folder.file(), "new");
    REQUIRE(file.ok());
    CHECK(folder.count() == 2);
    CHECK(folder.text() == "old");
  }
  CHECK(folder.count() == 1);
  auto file = ReadyFile::write(folder.file(), "new");
  REQUIRE(file.ok());
  CHECK_FALSE(file->take_name());
  CHECK(folder.count() == 1);
  CHECK(folder.text() == "new");
}

TEST_CASE("output file: a signal that ends the process takes files along that lie ready", "[cli]") {
  const Folder folder;
  for (const auto end : {+[] { raise(SIGINT); }, +[] { raise(SIGTERM); }, +[] { raise(SIGHUP); }}) {
    CHECK(WIFSIGNALED(status_of(folder, [] {}, end)));
    CHECK(folder.count() == 1);
    CHECK(folder.text() == "old");
  }
}

TEST_CASE("output file: so does a second signal during a run", "[cli]") {
  const Folder folder;
  const int status = status_of(folder, mla::cli::catch_interrupts, [] {
    raise(SIGTERM);
    usleep(600'000);  // beyond one request
    raise(SIGTERM);
  });
  CHECK(WIFSIGNALED(status));
  CHECK(folder.count() == 1);
}
