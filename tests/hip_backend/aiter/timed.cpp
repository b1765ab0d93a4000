// aiter_timed [--held-by PAGE] [FILE]: every code object of the AITER whose directory hsa AITER_HSA
// names, or those whose file name holds FILE, under legal timings. Prints the table of
// docs/findings/aiter-checks.md; --held-by: fails for a row that PAGE lacks. Exit codes: 0 done, 1
// a row is not in the page, 3 no such installation, 10 nothing to judge.
//
// A look at the object and one checked launch of each case choose the timings: where no path lacks
// a wait and the checks name nothing, waves and memory have no freedom that numbers could show, and
// two timings confirm it. The others run under all six of P43.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "hip_backend/gfx_emulator/check/static_waits.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "tests/hip_backend/aiter/checked_sweep.hpp"
#include "tests/hip_backend/aiter/installed.hpp"

using namespace mla;
using namespace mla::hip::aiter;
using namespace mla::hip::aiter::test;

namespace {

// Seeds of the timings: P43's kinds, the first two for kernels that nothing speaks against.
struct Timing {
  std::uint64_t seed;
  const char* words;
};
constexpr std::array<Timing, 6> kTimings = {{{15, "64 instructions ahead"},
                                             {17, "late memory, turns of 1"},
                                             {12, "to the barrier"},
                                             {23, "64 ahead, memory at random"},
                                             {22, "turns of 4, memory at random"},
                                             {16, "to the barrier, late memory"}}};
constexpr std::size_t kFew = 2;

struct Timed {
  std::size_t paths = 0;          // uses without a wait on some path
  std::set<std::uint64_t> waits;  // instructions that the checks name
  std::set<std::uint64_t> races;
  std::size_t judged = 0;
  std::size_t cases = 0;            // right under the default timing
  std::size_t runs = 0, right = 0;  // under the others
  std::string first;                // timing that is not right
};

Result<Timed> look_at_timings(Arch arch, const std::string& file, const Manifest& manifest,
                              const std::shared_ptr<Installation>& installation) {
  const auto bytes = installation->code(arch, file);
  if (!bytes) return bytes.error();
  const auto object = gfx::load_code_object(*bytes, {});
  if (!object) return object.error();
  Timed out;
  const gfx::Kernel& kernel = object->kernels()[0];
  std::set<std::uint64_t> uses;
  for (const gfx::MissingWait& m : gfx::check_waits(*object, kernel).missing) uses.insert(m.use);
  out.paths = uses.size();
  const auto note = [&](std::string_view name, const gfx::LaunchReport& report) {
    if (name != kernel.name) return;  // our reduce
    for (const gfx::Event& event : report.findings)
      (event.problem == gfx::Problem::missing_wait ? out.waits : out.races).insert(event.pc);
  };
  const gfx::RunOptions checks = {.checks = {.waits = true, .lds_races = true},
                                  .finding_limit = 100'000};
  for (const ManifestRow& row : manifest) {
    if (row.file != file) continue;
    judge_row(arch, row, installation, {.run = checks, .observe = note});
    const bool clean = uses.empty() && out.waits.empty() && out.races.empty();
    const auto early = judge_row(arch, row, installation, {});
    for (std::size_t t = 0; t < (clean ? kFew : kTimings.size()); ++t) {
      const hip::DrawnTiming drawn = hip::drawn_timing(kTimings[t].seed);
      const gfx::RunOptions run = {.schedule = drawn.schedule, .arrival = drawn.arrival};
      const auto then = judge_row(arch, row, installation, {.run = run, .observe = {}});
      for (std::size_t k = 0; k < early.size(); ++k) {
        if (!early[k].wrong.empty()) continue;
        const bool right = then[k].wrong.empty();
        ++out.runs;
        out.right += right ? 1 : 0;
        if (!right && out.first.empty()) out.first = kTimings[t].words;
      }
    }
    for (const Verdict& verdict : early) out.cases += verdict.wrong.empty() ? 1 : 0;
    out.judged += early.size();
  }
  return out;
}

std::string row_of(Arch arch, const std::string& family, const std::vector<Timed>& kernels) {
  Timed all;
  for (const Timed& k : kernels) {
    all.paths = std::max(all.paths, k.paths);
    all.waits.insert(k.waits.begin(), k.waits.end());
    all.races.insert(k.races.begin(), k.races.end());
    all.judged += k.judged;
    all.cases += k.cases;
    all.runs += k.runs;
    all.right += k.right;
    if (all.first.empty()) all.first = k.first;
  }
  const auto yes = [](bool is) { return is ? "yes" : "no"; };
  std::string row = "| " + std::string(name(arch)) + " `" + family + "` | " +
                    std::to_string(kernels.size()) + " | " + yes(all.paths != 0) + " | " +
                    yes(!all.waits.empty()) + " | " + yes(!all.races.empty()) + " | ";
  row += std::to_string(all.right) + " of " + std::to_string(all.runs) + " (" +
         std::to_string(all.cases) + (all.cases == 1 ? " case) | " : " cases) | ");
  if (all.judged == 0) return row + "no row names it |";
  if (all.cases == 0) return row + "wrong by default |";
  return row + (all.first.empty() ? "none" : all.first) + " |";
}

// Prints the rows of one architecture; how many families there are, and how many `page` lacks.
std::pair<int, int> judge(Arch arch, const std::shared_ptr<Installation>& installation,
                          const std::string& only, const std::string& page) {
  const std::string directory = installation->directory() + "/" + std::string(name(arch)) + "/mla";
  std::map<std::string, std::vector<std::string>> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(".co") && file.find(only) != std::string::npos)
      files[family_of(file)].push_back(file);
  }
  int lacks = 0;
  for (const auto& [family, members] : files) {
    std::vector<Timed> kernels;
    for (const std::string& file : members) {
      auto kernel = look_at_timings(arch, file, *installation->manifest(arch), installation);
      if (kernel)
        kernels.push_back(std::move(*kernel));
      else
        std::printf("%s: %s\n", file.c_str(), kernel.error().message.c_str());
    }
    const std::string row = row_of(arch, family, kernels);
    const bool held = page.empty() || page.find(row) != std::string::npos;
    lacks += held ? 0 : 1;
    std::printf("%s%s\n", held ? "" : "NOT IN THE PAGE ", row.c_str());
    std::fflush(stdout);
  }
  return {static_cast<int>(files.size()), lacks};
}

}  // namespace

int main(int argc, char** argv) {
  std::string only, page_name, page;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--held-by" && k + 1 < argc)
      page_name = argv[++k];
    else
      only = word;
  }
  int exit = 0;
  const auto installation = installed(exit);
  if (installation == nullptr) return exit;
  if (!page_name.empty()) {
    std::ifstream file(page_name);
    page.assign(std::istreambuf_iterator<char>(file), {});
    if (page.empty()) return std::printf("'%s' is empty\n", page_name.c_str()), 3;
  }
  int rows = 0, lacks = 0;
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (installation->manifest(arch) == nullptr) continue;
    if (hip::code_object(name(arch), "reduce").empty()) continue;
    const auto [families, missing] = judge(arch, installation, only, page);
    rows += families, lacks += missing;
  }
  if (rows == 0) return std::puts("skipped: nothing to judge"), 10;
  return lacks == 0 ? 0 : 1;
}
