// Backends by name: which ones this build and this machine have.
//
// `cpu` is the CPU backend on the machine's best data path; `cpu-portable`, `cpu-avx2`,
// `cpu-avx512` and `cpu-avx512-bf16` force one. `hip` runs the HIP kernels on a device: a GPU, or
// `emulated:gfx942`, which executes their machine code on the CPU. `aiter` runs the code objects of
// an installed AITER there (docs/use/aiter.md). Fails: an unknown name, a data path that the
// machine lacks, a device or an installation that is not there, with what would do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "properties/app/device_choice.hpp"

namespace mla::app {

// Every name of a backend, on whatever machine, `cpu` first.
std::vector<std::string> known_backends();
// Those that make_backends() takes here.
std::vector<std::string> available_backends();

Result<NamedBackend> make_hip(const DeviceChoice& choice);
Result<NamedBackend> make_aiter(const DeviceChoice& choice);
// `list` is one name or several, separated by commas; each may be named once. Next to `cpu`, and
// where a ledger says how launches are wrong, the stages of a device are held to those of the CPU.
Result<std::vector<NamedBackend>> make_backends(std::string_view list, const DeviceChoice& choice,
                                                bool with_ledger = false);
// Compares the stages of a device with those of the CPU; a replay does so too.
void compare_stages(NamedBackend& device);

// What a replay needs to plant the same defect.
std::string plant_option(std::string_view plant);

}  // namespace mla::app
