#include "properties/cli/backends.hpp"

#include <algorithm>
#include <optional>

#include "cpu_backend/cpu_backend.hpp"

namespace mla::cli {
namespace {

constexpr std::string_view kDefault = "cpu";
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

Result<NamedBackend> make_one(const std::string& name) {
  if (name == kDefault) return NamedBackend{name, cpu::make_cpu_backend()};
  for (const cpu::Isa isa : kIsas) {
    if (name != name_of(isa)) continue;
    if (available(isa)) return NamedBackend{name, cpu::make_cpu_backend({.isa = isa})};
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
  return names;
}

Result<std::vector<NamedBackend>> make_backends(std::string_view list) {
  std::vector<NamedBackend> out;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string name(list.substr(0, comma));
    for (const NamedBackend& b : out)
      if (b.name == name)
        return Error{ErrorCode::usage, "backend '" + name + "' is named twice", ""};
    auto one = make_one(name);
    if (!one) return one.error();
    out.push_back(std::move(*one));
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

std::string replay_options(std::string_view name) {
  return name == kDefault ? "" : " --backend " + std::string(name);
}

std::string plant_option(std::string_view plant) {
  return " --plant " + std::string(plant);
}

}  // namespace mla::cli
