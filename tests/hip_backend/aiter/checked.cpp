// aiter_checked [--list] [--held-by PAGE] [FILE]: every code object of the AITER whose directory
// hsa AITER_HSA names, or those whose file name holds FILE, along all paths, under every check and
// with late memory. Prints the table of docs/findings/aiter-checks.md; --list: and each finding;
// --held-by: fails for a row that PAGE lacks. Exit codes: 0 done, 1 a row is not in the page, 3 no
// such installation, 10 nothing to judge.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/text.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "tests/hip_backend/aiter/checked_sweep.hpp"
#include "tests/hip_backend/aiter/installed.hpp"

using namespace mla;
using namespace mla::hip::aiter;
using namespace mla::hip::aiter::test;

namespace {

struct Options {
  bool list = false;
  std::string page;
  std::string only;
};

void list(const std::string& file, const Showed& kernel) {
  for (const auto& [use, load] : kernel.paths)
    std::printf("path %s %s %s\n", file.c_str(), hex(use).c_str(), hex(load).c_str());
  for (const auto& [problem, places] : kernel.run)
    for (const auto& [at, line] : places)
      std::printf("run %s %s %s\n", file.c_str(), hex(at).c_str(), line.c_str());
}

std::vector<std::string> files_of(const std::string& directory, const std::string& only) {
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(".co") && file.find(only) != std::string::npos) files.push_back(file);
  }
  std::ranges::sort(files);
  return files;
}

// Prints the rows of one architecture; how many families there are, and how many `page` lacks.
std::pair<int, int> judge(Arch arch, const std::shared_ptr<Installation>& installation,
                          const Options& options, const std::string& page) {
  const std::string directory = installation->directory() + "/" + std::string(name(arch)) + "/mla";
  std::map<std::string, std::vector<Showed>> families;
  for (const std::string& file : files_of(directory, options.only)) {
    auto kernel = look_at(arch, file, *installation->manifest(arch), installation);
    if (!kernel) {
      std::printf("%s: %s\n", file.c_str(), kernel.error().message.c_str());
      continue;
    }
    if (options.list) list(file, *kernel);
    families[family_of(file)].push_back(std::move(*kernel));
  }
  int lacks = 0;
  for (const auto& [family, kernels] : families) {
    const std::string row = table_row(arch, family, kernels);
    const bool held = options.page.empty() || page.find(row) != std::string::npos;
    lacks += held ? 0 : 1;
    std::printf("%s%s\n", held ? "" : "NOT IN THE PAGE ", row.c_str());
    std::fflush(stdout);
  }
  return {static_cast<int>(families.size()), lacks};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--list") {
      options.list = true;
    } else if (word == "--held-by" && k + 1 < argc) {
      options.page = argv[++k];
    } else {
      options.only = word;
    }
  }
  int exit = 0;
  const auto installation = installed(exit);
  if (installation == nullptr) return exit;
  std::string page;
  if (!options.page.empty()) {
    std::ifstream file(options.page);
    page.assign(std::istreambuf_iterator<char>(file), {});
    if (page.empty()) return std::printf("'%s' is empty\n", options.page.c_str()), 3;
  }
  int rows = 0, lacks = 0;
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (installation->manifest(arch) == nullptr) continue;
    if (hip::code_object(name(arch), "reduce").empty()) continue;
    const auto [families, missing] = judge(arch, installation, options, page);
    rows += families, lacks += missing;
  }
  if (rows == 0) return std::puts("skipped: nothing to judge"), 10;
  return lacks == 0 ? 0 : 1;
}
