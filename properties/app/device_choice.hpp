// DeviceChoice and NamedBackend: what a user asked backends to run on, and what came of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/result.hpp"
#include "properties/app/emulation.hpp"
#include "properties/app/report.hpp"

namespace mla::app {

// The name of a fact that a terminal shows too: of the user's code, what does not run here.
inline constexpr std::string_view kNotJudged = "NOT JUDGED";

struct NamedBackend {
  std::string name;  // as asked for
  std::unique_ptr<Backend> backend;
  // What a replay needs to run on it again; empty for the default one.
  std::string replay_options = {};
  std::optional<Arch> arch = {};  // the only one that it takes
  Facts facts = {};               // of its device
  // What its launches showed; null unless they were asked to run in a way of their own.
  std::shared_ptr<EmulationLog> emulation = {};
  int workers = 0;         // cases at once; 0: as many as there are cores
  bool production = true;  // whether random cases have production shapes as well
  // A sum over code that is no part of this program, which a record names; null: there is none.
  std::function<std::string()> code_sum = {};
};

// What `hip` and `aiter` run on, and the directory `hsa` of the AITER that `aiter` runs.
struct DeviceChoice {
  std::string device = "auto";     // auto, hip:0, nvidia:0, emulated:gfx942 or emulated:gfx950
  std::string aiter_hsa;           // empty: none is known
  std::string aiter_tree = {};     // a whole AITER that plans and runs decode steps; empty: none
  std::string aiter_opus = {};     // code object of AITER's OPUS decode; empty: the installation's
  bool any_width = false;          // AITER's kernels run on rows that they do not have built in
  EmulationChoice emulation = {};  // of an emulated device
  bool production = false;         // random cases of production shapes on an emulated one too
  // Cases judged at once, 0 for one on each core; a GPU takes their launches one at a time.
  // Launches that are noted or observed run one after the other, so that reports stay the same.
  int workers = 1;
  // Called after every launch on an emulated device, with the kernel's name.
  std::function<void(std::string_view, const gfx::LaunchReport&)> observe = {};
};
// Whether the value of --aiter-hsa was given by name, and not by the environment alone: then it may
// not be without effect.
bool named_aiter(std::string_view directory);

}  // namespace mla::app
