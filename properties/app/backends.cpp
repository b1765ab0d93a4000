#include "properties/app/backends.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "core/io/checksum.hpp"
#include "core/say.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "hip_backend/aiter/aiter_backend.hpp"
#include "hip_backend/device/open_device.hpp"
#include "hip_backend/hip_backend.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "properties/app/build_info.hpp"
#include "properties/app/shell_word.hpp"
#include "properties/app/tree_backend.hpp"
#include "properties/step/decode/stage_compare.hpp"

namespace mla::app {
namespace {

constexpr std::string_view kDefault = "cpu";
constexpr std::string_view kBackendOption = " --backend ";
constexpr std::string_view kHip = "hip";
constexpr std::string_view kAiter = "aiter";
constexpr cpu::Isa kIsas[] = {cpu::Isa::portable, cpu::Isa::avx2, cpu::Isa::avx512,
                              cpu::Isa::avx512_bf16};

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string name_of(cpu::Isa isa) {
  return say("cpu-", cpu::name(isa));
}

bool available(cpu::Isa isa) {
  const std::vector<cpu::Isa> isas = cpu::available_isas();
  return std::find(isas.begin(), isas.end(), isa) != isas.end();
}

Facts facts_of(const hip::DeviceProperties& device) {
  Facts facts = {
      {"device", device.label},      {"model", device.model},
      {"architecture", device.arch}, {"compute units", std::to_string(device.compute_units)},
      {"driver", device.driver},     {"host compiler", kCompiler}};
  for (const auto& [unit, code] : hip::code_units(device.arch))
    facts.emplace_back(say("code object ", unit), io::hex64(io::fnv1a64(code)));
  return facts;
}

bool is_emulated(std::string_view device) {
  return device.starts_with("emulated:");
}

int workers_on(std::string_view device, const DeviceChoice& choice) {
  const bool noted = choice.emulation.given() || choice.observe;
  return is_emulated(device) && noted ? 1 : choice.workers;
}

// The device, or what the null device says is missing. `log` stays null unless the device was asked
// to run in a way of its own.
Result<std::shared_ptr<hip::Device>> open_named(std::string_view backend,
                                                const DeviceChoice& choice,
                                                std::shared_ptr<EmulationLog>& log) {
  auto run = read_emulation(choice.emulation, choice.device);
  if (!run) return run.error();
  const bool several = workers_on(choice.device, choice) != 1;
  if (several) run->threads = 1;
  if (choice.emulation.given()) log = std::make_shared<EmulationLog>(choice.emulation.words());
  const auto observe = [log, next = choice.observe](std::string_view kernel,
                                                    const gfx::LaunchReport& report) {
    if (log) log->note(kernel, report);
    if (next) next(kernel, report);
  };
  auto opened = hip::open_device(choice.device,
                                 {.run = *run, .observe = observe, .one_for_each_thread = several});
  if (!opened) return opened.error();
  std::shared_ptr<hip::Device> device = std::move(*opened);
  if (device->properties().label != "null") return device;
  const auto why = device->make_stream();
  return Error{ErrorCode::fault, say("backend '", backend, "' has no device: ",
                                     why ? device->properties().model : why.error().message)};
}

NamedBackend on_device(std::string_view backend, const hip::DeviceProperties& device,
                       const DeviceChoice& choice, std::shared_ptr<EmulationLog> log) {
  NamedBackend named{.name = std::string(backend), .backend = nullptr};
  named.replay_options =
      say(kBackendOption, backend, " --device ", device.label, choice.emulation.words());
  named.emulation = std::move(log);
  named.arch = arch_from_name(device.arch);
  named.facts = facts_of(device);
  named.workers = workers_on(device.label, choice);
  // An emulated device is a thousand times slower.
  named.production = choice.production || !is_emulated(device.label);
  return named;
}

Result<NamedBackend> make_one(const std::string& name, const DeviceChoice& choice) {
  if (name == kDefault) return NamedBackend{.name = name, .backend = cpu::make_cpu_backend()};
  if (name == kHip) return make_hip(choice);
  if (name == kAiter) return make_aiter(choice);
  for (const cpu::Isa isa : kIsas) {
    if (name != name_of(isa)) continue;
    if (available(isa))
      return NamedBackend{.name = name,
                          .backend = cpu::make_cpu_backend({.isa = isa}),
                          .replay_options = say(kBackendOption, name)};
    return Error{ErrorCode::fault,
                 say("backend '", name, "' is not available: this build or this processor has no ",
                     cpu::name(isa), " data path; available: ", joined(available_backends()))};
  }
  return Error{ErrorCode::usage,
               "backend '" + name + "' is unknown; available: " + joined(available_backends())};
}

// Nothing that was said of a device may be without effect.
MaybeError check_used(const DeviceChoice& choice, const std::vector<NamedBackend>& backends) {
  const auto has = [&backends](std::string_view name) {
    return std::any_of(backends.begin(), backends.end(),
                       [name](const NamedBackend& b) { return b.name == name; });
  };
  if (named_aiter(choice.aiter_hsa) && !has(kAiter))
    return Error{ErrorCode::usage, "--aiter-hsa " + choice.aiter_hsa + " goes with backend aiter"};
  if (!choice.aiter_tree.empty() && !has(kAiter))
    return Error{ErrorCode::usage, "--aiter " + choice.aiter_tree + " goes with backend aiter"};
  if (!choice.aiter_opus.empty() && !has(kAiter))
    return Error{ErrorCode::usage,
                 "--aiter-opus " + choice.aiter_opus + " goes with backend aiter"};
  if (choice.any_width && (!has(kAiter) || !choice.aiter_tree.empty()))
    return Error{ErrorCode::usage, "--aiter-any-width goes with backend aiter and --aiter-hsa"};
  if (has(kHip) || has(kAiter)) return std::nullopt;
  std::string words = choice.emulation.words();
  if (choice.production) words += " --production";
  if (choice.device != DeviceChoice{}.device) words = " --device " + choice.device + words;
  if (words.empty()) return std::nullopt;
  return Error{ErrorCode::usage, words.substr(1) + " goes with backend hip or aiter"};
}

}  // namespace

std::vector<std::string> known_backends() {
  std::vector<std::string> names = {std::string(kDefault)};
  for (const cpu::Isa isa : kIsas) names.push_back(name_of(isa));
  names.emplace_back(kHip);
  names.emplace_back(kAiter);
  return names;
}

std::vector<std::string> available_backends() {
  std::vector<std::string> names = known_backends();
  for (const cpu::Isa isa : kIsas)
    if (!available(isa)) std::erase(names, name_of(isa));
  return names;
}

Result<NamedBackend> make_hip(const DeviceChoice& choice) {
  std::shared_ptr<EmulationLog> log;
  auto device = open_named(kHip, choice, log);
  if (!device) return device.error();
  NamedBackend named = on_device(kHip, (*device)->properties(), choice, std::move(log));
  named.backend = hip::make_hip_backend(std::move(*device), {});
  return named;
}

Result<NamedBackend> make_aiter(const DeviceChoice& choice) {
  if (!choice.aiter_tree.empty()) return make_tree(choice);
  if (choice.aiter_hsa.empty())
    return Error{ErrorCode::fault,
                 "backend 'aiter' needs the directory hsa of an AITER installation: --aiter-hsa "
                 "DIR, or AITER_HSA in the environment"};
  const std::string& opus = choice.aiter_opus;
  std::error_code none;
  if (std::filesystem::exists(opus, none) && !std::filesystem::is_regular_file(opus, none))
    return Error{ErrorCode::fault, say("--aiter-opus: '", opus, "' is not a regular file")};
  auto installation = hip::aiter::Installation::open(choice.aiter_hsa);
  if (!installation) return installation.error();
  if (!opus.empty())
    if (MaybeError bad = (*installation)->take_opus(opus)) return *bad;
  std::shared_ptr<EmulationLog> log;
  auto device = open_named(kAiter, choice, log);
  if (!device) return device.error();
  NamedBackend named = on_device(kAiter, (*device)->properties(), choice, std::move(log));
  named.replay_options += " --aiter-hsa " + shell_word(choice.aiter_hsa);
  if (choice.any_width) named.replay_options += " --aiter-any-width";
  named.facts.emplace_back("AITER code objects", choice.aiter_hsa);
  if (!opus.empty()) {
    named.replay_options += " --aiter-opus " + shell_word(opus);
    named.facts.emplace_back("code object of --aiter-opus",
                             io::hex64(io::fnv1a64((*installation)->opus())));
  }
  named.code_sum = [code = *installation, arch = named.arch] {
    return arch ? io::hex64(code->sum(*arch)) : std::string();
  };
  hip::aiter::AiterOptions options;
  options.any_width = choice.any_width;
  named.backend = hip::aiter::make_aiter_backend(std::move(*device), std::move(*installation),
                                                 std::move(options));
  return named;
}

void compare_stages(NamedBackend& device) {
  device.replay_options.insert(kBackendOption.size(), say(kDefault, ","));
  device.backend = prop::compared_with(std::move(device.backend), cpu::make_cpu_backend());
}

Result<std::vector<NamedBackend>> make_backends(std::string_view list, const DeviceChoice& choice,
                                                bool with_ledger) {
  std::vector<NamedBackend> out;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string name(list.substr(0, comma));
    for (const NamedBackend& b : out)
      if (b.name == name) return Error{ErrorCode::usage, "backend '" + name + "' is named twice"};
    auto one = make_one(name, choice);
    if (!one) return one.error();
    out.push_back(std::move(*one));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  if (MaybeError bad = check_used(choice, out)) return *bad;
  const bool cpu =
      std::any_of(out.begin(), out.end(), [](const NamedBackend& b) { return b.name == kDefault; });
  for (NamedBackend& b : out)
    if ((cpu || with_ledger) && (b.name == kHip || b.name == kAiter)) compare_stages(b);
  return out;
}

std::string plant_option(std::string_view plant) {
  return say(" --plant ", plant);
}

}  // namespace mla::app
