#include "properties/cli/backends.hpp"

#include <algorithm>
#include <optional>

#include "core/io/checksum.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "hip_backend/code_objects.hpp"
#include "hip_backend/device/open_device.hpp"
#include "hip_backend/hip_backend.hpp"
#include "properties/cli/build_info.hpp"
#include "properties/stage_compare.hpp"

namespace mla::cli {
namespace {

constexpr std::string_view kDefault = "cpu";
constexpr std::string_view kHip = "hip";
constexpr cpu::Isa kIsas[] = {cpu::Isa::portable, cpu::Isa::avx2, cpu::Isa::avx512};

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string name_of(cpu::Isa isa) {
  return "cpu-" + std::string(cpu::name(isa));
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
  for (const char* unit : {"decode", "reduce", "expand", "planner"})
    if (const auto code = hip::code_object(device.arch, unit); !code.empty())
      facts.emplace_back(std::string("code object ") + unit, io::hex64(io::fnv1a64(code)));
  return facts;
}

Result<NamedBackend> make_one(const std::string& name, std::string_view device) {
  if (name == kDefault) return NamedBackend{.name = name, .backend = cpu::make_cpu_backend()};
  if (name == kHip) return make_hip(device);
  for (const cpu::Isa isa : kIsas) {
    if (name != name_of(isa)) continue;
    if (available(isa))
      return NamedBackend{.name = name,
                          .backend = cpu::make_cpu_backend({.isa = isa}),
                          .replay_options = " --backend " + name};
    return Error{ErrorCode::fault,
                 "backend '" + name + "' is not available: this build or this processor has no " +
                     std::string(cpu::name(isa)) +
                     " data path; available: " + joined(available_backends()),
                 ""};
  }
  return Error{ErrorCode::usage,
               "backend '" + name + "' is unknown; available: " + joined(available_backends()), ""};
}

}  // namespace

std::vector<std::string> available_backends() {
  std::vector<std::string> names = {std::string(kDefault)};
  for (const cpu::Isa isa : kIsas)
    if (available(isa)) names.push_back(name_of(isa));
  names.emplace_back(kHip);
  return names;
}

Result<NamedBackend> make_hip(std::string_view device_name) {
  auto opened = hip::open_device(device_name);
  if (!opened) return opened.error();
  std::shared_ptr<hip::Device> device = std::move(*opened);
  const hip::DeviceProperties& found = device->properties();
  if (found.label == "null") {
    const auto why = device->make_stream();  // the null device says at every call what is missing
    return Error{ErrorCode::fault,
                 "backend 'hip' has no device: " + (why ? found.model : why.error().message), ""};
  }
  NamedBackend named{.name = std::string(kHip), .backend = nullptr};
  named.replay_options = " --backend hip --device " + found.label;
  named.arch = arch_from_name(found.arch);
  named.facts = facts_of(found);
  named.workers = 1;  // a device runs one case at a time
  named.backend = hip::make_hip_backend(std::move(device), {});
  return named;
}

Result<std::vector<NamedBackend>> make_backends(std::string_view list, std::string_view device) {
  std::vector<NamedBackend> out;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string name(list.substr(0, comma));
    for (const NamedBackend& b : out)
      if (b.name == name)
        return Error{ErrorCode::usage, "backend '" + name + "' is named twice", ""};
    auto one = make_one(name, device);
    if (!one) return one.error();
    out.push_back(std::move(*one));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  const auto named = [&out](std::string_view name) {
    return std::find_if(out.begin(), out.end(), [name](const auto& b) { return b.name == name; });
  };
  // Side by side, the stages of a device are held to those of the CPU.
  if (const auto hip = named(kHip); hip != out.end() && named(kDefault) != out.end())
    hip->backend = prop::compared_with(std::move(hip->backend), cpu::make_cpu_backend());
  return out;
}

std::string plant_option(std::string_view plant) {
  return " --plant " + std::string(plant);
}

}  // namespace mla::cli
