// mla-fuzz: runs a target over files, without a fuzzer. `mla-fuzz <target> <file or folder>...`
//
// Exit: 0 all held, 1 a finding, 2 usage, 3 a file cannot be read, 4 there was no input.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "properties/fuzz/target.hpp"

namespace {

using mla::prop::fuzz::Target;
namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

int run(const Target& target, const std::vector<fs::path>& files) {
  const auto start = std::chrono::steady_clock::now();
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "mla-fuzz: '%s' cannot be read\n", file.c_str());
      return 3;
    }
    const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    const auto finding = target.run(bytes);
    if (!finding) continue;
    std::printf("FAIL %s %s\n  %s\n  %s\nREPRO: mla-fuzz %s %s\n", std::string(target.name).c_str(),
                finding->input.c_str(), std::string(target.sentence).c_str(), finding->what.c_str(),
                std::string(target.name).c_str(), file.c_str());
    return 1;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%s: %zu inputs held, %.0f a second\n", std::string(target.name).c_str(),
              files.size(), static_cast<double>(files.size()) / took.count());
  return files.empty() ? 4 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Target* target = argc > 1 ? mla::prop::fuzz::find_target(argv[1]) : nullptr;
  if (target == nullptr || argc < 3) {
    std::fprintf(stderr, "mla-fuzz <target> <file or folder>...\ntargets:\n");
    for (const Target& t : mla::prop::fuzz::all_targets())
      std::fprintf(stderr, "  %-16s %s\n", std::string(t.name).c_str(),
                   std::string(t.sentence).c_str());
    return 2;
  }
  std::vector<fs::path> files;
  for (int i = 2; i < argc; ++i)
    for (fs::path& file : files_of(argv[i])) files.push_back(std::move(file));
  return run(*target, files);
}
