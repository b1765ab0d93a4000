// Backends by name: which ones this build and this machine have.
//
// `cpu` is the CPU backend on the machine's best data path; `cpu-portable`, `cpu-avx2` and
// `cpu-avx512` force one. Fails: an unknown name, or a data path that the machine lacks, with the
// names that would do.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend.hpp"
#include "core/result.hpp"

namespace mla::cli {

struct NamedBackend {
  std::string name;  // as asked for
  std::unique_ptr<Backend> backend;
};

// Every name that make_backends() takes here, `cpu` first.
std::vector<std::string> available_backends();

// `list` is one name or several, separated by commas; each may be named once.
Result<std::vector<NamedBackend>> make_backends(std::string_view list);

// What a replay needs to run on the backend of this name again; empty for the default one.
std::string replay_options(std::string_view name);
// What a replay needs to plant the same defect.
std::string plant_option(std::string_view plant);

}  // namespace mla::cli
