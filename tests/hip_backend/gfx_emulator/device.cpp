#include "device.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "hip_backend/gfx_emulator/load.hpp"
#include "tests/catch.hpp"

namespace gfx_test {
namespace {

std::vector<char> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

mla::gfx::CodeObject load(const std::string& unit, const Target& target, mla::gfx::HostPath path) {
  const std::string file = std::string(MLA_GFX_KERNELS) + "/" + unit + "." + target.arch + ".O" +
                           std::to_string(target.level) + ".co";
  const std::vector<char> bytes = read(file);
  auto object = mla::gfx::load_code_object(std::as_bytes(std::span(bytes)), {.path = path});
  INFO(file << ": " << (object.ok() ? "" : object.error().message));
  REQUIRE(object.ok());
  return std::move(object).value();
}

// MLA_GFX_ARRIVAL: "late", or "random.5" with a seed; the launches then run without checks.
std::optional<mla::gfx::Arrival> arrival_of_environment() {
  using Mode = mla::gfx::Arrival::Mode;
  const char* const text = std::getenv("MLA_GFX_ARRIVAL");
  if (text == nullptr) return std::nullopt;
  const std::string word = text;
  if (word == "late") return mla::gfx::Arrival{.mode = Mode::late};
  REQUIRE(word.starts_with("random."));
  return mla::gfx::Arrival{.mode = Mode::random, .number = std::stoull(word.substr(7))};
}

}  // namespace

std::vector<Target> all_targets() {
  std::vector<Target> targets = targets_of("gfx942");
  for (const Target& target : targets_of("gfx950")) targets.push_back(target);
  return targets;
}

std::vector<Target> targets_of(const std::string& arch) {
  return {{arch, 0}, {arch, 1}, {arch, 2}, {arch, 3}};
}

Device::Device(const std::string& unit, const Target& target, mla::gfx::HostPath path)
    : object_(load(unit, target, path)) {}

void Arguments::append(const void* value, std::size_t size) {
  const std::size_t at = (bytes_.size() + size - 1) / size * size;
  bytes_.resize(at + size);
  std::memcpy(bytes_.data() + at, value, size);
}

mla::gfx::LaunchReport Device::report(const std::string& kernel, const Arguments& arguments,
                                      const Shape& shape) {
  auto report = mla::gfx::run(object_,
                              {.kernel = kernel,
                               .grid = shape.grid,
                               .block = shape.block,
                               .kernarg = arguments.bytes(),
                               .dynamic_lds = shape.dynamic_lds,
                               .options = shape.options},
                              memory_);
  INFO((report.ok() ? "" : report.error().message));
  REQUIRE(report.ok());
  return std::move(report).value();
}

void Device::run(const std::string& kernel, const Arguments& arguments, const Shape& shape) {
  Shape checked = shape;
  checked.options.checks = {.waits = true,
                            .lds_races = true,
                            .uninitialised = false,
                            .lanes = true,
                            .same_barrier = true,
                            .coherence = true};
  if (const auto arrival = arrival_of_environment()) {
    checked.options.checks = {};
    checked.options.arrival = *arrival;
  }
  const auto result = report(kernel, arguments, checked);
  std::string lines;
  for (const auto& event : result.faults) lines += event.line() + "\n";
  for (const auto& event : result.findings) lines += event.line() + "\n";
  INFO(kernel << "\n" << lines);
  REQUIRE(result.clean());
}

}  // namespace gfx_test
