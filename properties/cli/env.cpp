// `mla-testbed env`: the facts of this build and this machine that a report needs.
#include <sched.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/plan/ported_from.hpp"
#include "core/say.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/app/backends.hpp"
#include "properties/app/build_info.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using Json = nlohmann::ordered_json;

constexpr const char* kEnvFooter = R"(
Examples:
  mla-testbed env
  mla-testbed env --json | jq .isa_paths)";

// Processors that this process may use; containers often give fewer than the machine has.
std::int64_t usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<std::int64_t>(std::thread::hardware_concurrency());
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string system_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return say(names.sysname, " ", names.release, " ", names.machine);
}

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "unset" : value;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_structured()) return value.dump();
  std::string out;
  for (const auto& [key, element] : value.items())
    out += (out.empty() ? "" : ", ") + (value.is_object() ? key + " " : "") + text_of(element);
  return out;
}

// Variables that the command and the library read (docs/reference/environment.md).
constexpr const char* kVariables[] = {"AITER_HSA",           "MLA_TESTBED_BACKEND",
                                      "MLA_TESTBED_DEVICE",  "MLA_TESTBED_PYTHON",
                                      "MLA_HIP_CHECKS",      "MLA_TESTBED_SCHEDULE",
                                      "MLA_TESTBED_ARRIVAL", "NO_COLOR",
                                      "SOURCE_DATE_EPOCH",   "TMPDIR"};

Json variables() {
  Json out = Json::object();
  for (const char* name : kVariables) out[name] = environment(name);
  return out;
}

Json facts() {
  Json isas = Json::array();
  for (const cpu::Isa isa : cpu::available_isas()) isas.push_back(cpu::name(isa));
  const std::string sanitizers = app::kSanitizers;
  return {{"mla_testbed", app::kVersion},
          {"planned_as", plan::kPortedFrom},
          {"compiler", app::kCompiler},
          {"build_type", app::kBuildType},
          {"sanitizers", sanitizers.empty() ? "none" : sanitizers},
          {"system", system_name()},
          {"processor", processor()},
          {"cores", usable_cores()},
          {"backends", app::available_backends()},
          {"isa_paths", isas},
          {"openmp",
           {{"specification", app::kOpenMp}, {"OMP_NUM_THREADS", environment("OMP_NUM_THREADS")}}},
          {"variables", variables()},
          {"libraries",
           {{"CLI11", parser_version()},
            {"nlohmann_json", say(NLOHMANN_JSON_VERSION_MAJOR, ".", NLOHMANN_JSON_VERSION_MINOR,
                                  ".", NLOHMANN_JSON_VERSION_PATCH)},
            {"xtensor", app::kXtensor}}}};
}

ExitCode env(bool json) {
  const Json all = facts();
  if (json) return finish("env", all.dump(2) + "\n", ExitCode::held);
  std::string out;
  for (const auto& [key, value] : all.items()) {
    std::string label = key;
    label.resize(14, ' ');
    out += label + text_of(value) + "\n";
  }
  return finish("env", out, ExitCode::held);
}

}  // namespace

void add_env(Command& app, ExitCode& exit) {
  auto json = std::make_shared<bool>(false);
  Command c = app.add_subcommand("env", "Show facts of this build and this machine");
  c.add_flag("--json", *json, "Print one JSON object");
  c.footer(kEnvFooter);
  c.callback([json, &exit] { exit = env(*json); });
}

}  // namespace mla::cli
