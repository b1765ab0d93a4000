// Claims about an installation: a directory is read where it lies, and what is missing is named by
// its path.
#include "hip_backend/aiter/installation.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"

using namespace mla;
using namespace mla::hip::aiter;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() /
              ("mla_aiter_" + std::to_string(counter_++) + "_" + std::to_string(::getpid()))) {
    fs::create_directories(path_ / "gfx950" / "mla");
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(path_ / "gfx950" / "mla" / file) << text;
  }
  [[nodiscard]] std::string name() const { return path_.string(); }

 private:
  static inline int counter_ = 0;
  fs::path path_;
};

const char* const kManifest =
    "qType,kvType,Gqa,ps,qSeqLen,prefill,causal,lse,knl_name,co_name\n"
    "bf16,bf16,16,1,4,0,1,0,k,a.co\n";

}  // namespace

TEST_CASE(
    "aiter installation: manifests of the architectures that are there, code when asked for") {
  const Folder folder;
  folder.write("mla_asm.csv", kManifest);
  const auto installation = Installation::open(folder.name());
  REQUIRE(installation.ok());
  CHECK((*installation)->manifest(Arch::gfx942) == nullptr);
  REQUIRE((*installation)->manifest(Arch::gfx950) != nullptr);
  CHECK((*installation)->manifest(Arch::gfx950)->front().file == "a.co");

  const auto missing = (*installation)->code(Arch::gfx950, "a.co");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message == "there is no file " + folder.name() + "/gfx950/mla/a.co");
  folder.write("a.co", "code");
  const auto first = (*installation)->code(Arch::gfx950, "a.co");
  REQUIRE(first.ok());
  CHECK(first->size() == 4);
  folder.write("a.co", "other code");
  CHECK((*(*installation)->code(Arch::gfx950, "a.co")).data() == first->data());  // read once
}

TEST_CASE("aiter installation: the sum changes with the manifest, each file it names and OPUS") {
  const Folder folder;
  const auto sum = [&](const std::string& opus = "") {
    auto installation = Installation::open(folder.name());
    REQUIRE(installation.ok());
    if (!opus.empty())
      REQUIRE_FALSE((*installation)->take_opus(folder.name() + "/gfx950/mla/" + opus));
    return (*installation)->sum(Arch::gfx950);
  };
  folder.write("mla_asm.csv", kManifest);
  folder.write("a.co", "code");
  folder.write("opus.co", "one");
  const std::uint64_t first = sum();
  CHECK(sum() == first);
  folder.write("unnamed.co", "code");
  CHECK(sum() == first);
  const std::uint64_t with_opus = sum("opus.co");
  CHECK(with_opus != first);
  folder.write("opus.co", "two");
  CHECK(sum("opus.co") != with_opus);
  folder.write("a.co", "other code");
  CHECK(sum() != first);
  folder.write("a.co", "code");
  CHECK(sum() == first);
  folder.write("mla_asm.csv", std::string(kManifest) + "bf16,bf16,16,0,4,0,1,0,k,a.co\n");
  CHECK(sum() != first);
}

TEST_CASE("aiter installation: a directory that is none, and a broken manifest, by their paths") {
  const Folder folder;
  const auto none = Installation::open(folder.name());
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::fault);
  CHECK(none.error().message.find(folder.name() + "/gfx942/mla/mla_asm.csv") != std::string::npos);
  folder.write("mla_asm.csv", "a,b\n");
  const auto broken = Installation::open(folder.name());
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().message ==
        folder.name() + "/gfx950/mla/mla_asm.csv, line 1: has no column 'qType'");
}

TEST_CASE("aiter installation: an OPUS decode that is missing or empty is refused by its path") {
  const Folder folder;
  folder.write("mla_asm.csv", kManifest);
  const auto installation = Installation::open(folder.name());
  REQUIRE(installation.ok());
  CHECK((*installation)->opus().empty());
  const std::string path = folder.name() + "/gfx950/mla/opus.co";
  CHECK((*installation)->take_opus(path)->message == "there is no file " + path);
  folder.write("opus.co", "");
  CHECK((*installation)->take_opus(path)->message == path + " is empty");
  folder.write("opus.co", "code");
  CHECK_FALSE((*installation)->take_opus(path));
  CHECK((*installation)->opus().size() == 4);
}
