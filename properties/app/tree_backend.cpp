#include "properties/app/tree_backend.hpp"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/say.hpp"
#include "hip_backend/aiter_tree/tree_backend.hpp"
#include "hip_backend/aiter_tree/tree_planner.hpp"
#include "properties/app/shell_word.hpp"
#include "properties/dump/check/tree.hpp"

namespace mla::app {
namespace {

using hip::aiter_tree::TreeProcess;

constexpr std::string_view kEmulated = "emulated:";

Error refuse(const std::string& why) {
  return {ErrorCode::usage, why};
}

MaybeError check_alone(const DeviceChoice& choice) {
  const std::string tree = "--aiter " + choice.aiter_tree;
  if (named_aiter(choice.aiter_hsa))
    return refuse(say(tree, " has kernels of its own: leave out --aiter-hsa ", choice.aiter_hsa));
  if (!choice.aiter_opus.empty())
    return refuse(say(tree, " has its own: leave out --aiter-opus ", choice.aiter_opus));
  if (choice.observe || choice.emulation.profile || choice.emulation.trace)
    return refuse(say(tree, " has launches that cannot be profiled; those of --aiter-hsa can"));
  return std::nullopt;
}

}  // namespace

Result<std::shared_ptr<TreeProcess>> open_tree(const std::string& directory, Arch arch) {
  std::error_code none;
  if (!std::filesystem::is_directory(directory, none))
    return refuse(say("--aiter: there is no directory '", directory, "'"));
  const char* python = std::getenv("MLA_TESTBED_PYTHON");
  hip::aiter_tree::TreeChoice choice{.directory = directory};
  if (python != nullptr && *python != '\0') choice.python = python;
  return TreeProcess::start(choice, arch);
}

Result<NamedBackend> make_tree(const DeviceChoice& choice) {
  if (MaybeError bad = check_alone(choice)) return *bad;
  const std::string_view device = choice.device;
  const auto arch = device.starts_with(kEmulated) ? arch_from_name(device.substr(kEmulated.size()))
                                                  : std::nullopt;
  if (!arch)
    return refuse(say("--aiter ", choice.aiter_tree, " runs on --device emulated:gfx942 or ",
                      "emulated:gfx950, not '", device, "'"));
  const auto run = read_emulation(choice.emulation, device);
  if (!run) return run.error();
  const auto process = open_tree(choice.aiter_tree, *arch);
  if (!process) return process.error();
  NamedBackend named{.name = "aiter", .backend = nullptr};
  named.replay_options = say(" --backend aiter --device ", device, choice.emulation.words(),
                             " --aiter ", shell_word(choice.aiter_tree));
  named.arch = arch;
  named.facts = {{"AITER tree", choice.aiter_tree},
                 {"AITER version", (*process)->version()},
                 {"AITER sources and code objects", (*process)->sum()}};
  for (const std::string& file : (*process)->not_run())
    named.facts.emplace_back(
        kNotJudged, say(file, " is another than that of the AITER that is followed here, and no ",
                        "step runs it: the cache is filled by mla-testbed"));
  named.workers = 1;
  named.production = choice.production;
  named.code_sum = [sum = (*process)->sum()] { return sum; };
  named.backend = hip::aiter_tree::make_tree_backend(*process, *run);
  return named;
}

Result<std::unique_ptr<plan::StepPlanner>> make_tree_planner(const std::string& directory,
                                                             Arch arch) {
  auto process = open_tree(directory, arch);
  if (!process) return process.error();
  return hip::aiter_tree::make_tree_planner(std::move(*process), {});
}

MaybeError TreePlanners::ask(const dump::Dump& dump, dump::Answer& answer) {
  const auto arch = directory_.empty() ? std::nullopt : dump::planned_arch(dump);
  if (!arch) return std::nullopt;
  auto& planner = planners_[*arch];
  if (!planner) {
    auto made = make_tree_planner(directory_, *arch);
    if (!made) {
      directory_.clear();  // it is said once, and not tried again
      return made.error();
    }
    planner = std::move(*made);
  }
  dump::hold_against(*planner, dump, answer);
  return std::nullopt;
}

}  // namespace mla::app
