// `mla-testbed rocm`: where the stand-in for ROCm is.
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "core/say.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
namespace fs = std::filesystem;

constexpr const char* kRocmFooter = R"(
Examples:
  mla-testbed rocm --path
  $(mla-testbed rocm --path)/bin/hipcc --offload-arch=gfx942 kernel.hip -o kernel
  export ROCM_PATH=$(mla-testbed rocm --path))";

bool is_rocm(const fs::path& place) {
  std::error_code error;
  return fs::exists(place / "lib" / "libamdhip64.so.6", error);
}

// Beside the command in a build, below it in an installation, in the package of a wheel.
fs::path rocm_home() {
  if (const char* const named = std::getenv("MLA_TESTBED_ROCM")) return named;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& place : {here / "rocm", here / "../share/mla-testbed/rocm"})
    if (is_rocm(place)) return fs::weakly_canonical(place, error);
  for (const auto& entry : fs::directory_iterator(here / "../lib", error)) {
    const fs::path place = entry.path() / "site-packages/mla_testbed/rocm";
    if (is_rocm(place)) return fs::weakly_canonical(place, error);
  }
  return {};
}

ExitCode rocm(bool path_only) {
  const fs::path home = rocm_home();
  if (home.empty() || !is_rocm(home))
    return complain(
        "rocm", {ErrorCode::fault, say("no stand-in for ROCm ",
                                       home.empty() ? "beside the command" : "in ", home.string(),
                                       ": build the target mla_amdhip64, or let "
                                       "MLA_TESTBED_ROCM name one")});
  if (path_only) return finish("rocm", home.string() + "\n", ExitCode::held);
  return finish("rocm",
                say("ROCM_PATH=", home.string(), "\n", "compiler   ", home.string(),
                    "/bin/hipcc (--help)\n", "CMake      -DCMAKE_PREFIX_PATH=", home.string(),
                    " -DCMAKE_HIP_COMPILER=", home.string(), "/llvm/bin/clang++\n", "runtime    ",
                    home.string(), "/lib/libamdhip64.so: the emulated device\n"),
                ExitCode::held);
}

}  // namespace

void add_rocm(Command& app, ExitCode& exit) {
  auto path_only = std::make_shared<bool>(false);
  Command c = app.add_subcommand("rocm", "Where hipcc and the HIP runtime of the emulator are");
  c.add_flag("--path", *path_only, "Print the directory and nothing else");
  c.footer(kRocmFooter);
  c.callback([path_only, &exit] { exit = rocm(*path_only); });
}

}  // namespace mla::cli
