// `mla-testbed assumptions`: does a device do what the emulator assumes of it?
#include "hip_backend/assumptions/assumption.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "hip_backend/device/open_device.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"

namespace mla::cli {
namespace {

using hip::AssumptionResult;
using prop::ExitCode;
using Json = nlohmann::ordered_json;

struct AssumptionsOptions {
  std::string device = "auto";
  bool json = false;
};

constexpr const char* kAssumptionsFooter = R"(
Some behaviour of gfx942 and gfx950 is not defined by any manual, and the emulator must assume it.
Each assumption has a name (docs/reference/emulator.md), and most have a small kernel that tests it
on the device; for the others the reason is printed. On an emulated device they hold by construction:
run it on a GPU.
Exit: 0 all hold, 1 one differs, 3 no device, 10 a device of another architecture.

Examples:
  mla-testbed assumptions --device hip:0
  mla-testbed assumptions --device emulated:gfx950 --json)";

const char* text_of(AssumptionResult::Kind kind) {
  switch (kind) {
    case AssumptionResult::Kind::holds:
      return "holds";
    case AssumptionResult::Kind::differs:
      return "differs";
    default:
      return "not tested";
  }
}

std::string table_of(const std::vector<AssumptionResult>& results) {
  std::string out;
  for (const AssumptionResult& r : results) {
    std::string line = r.name;
    line.resize(22, ' ');
    line += text_of(r.kind);
    out += r.detail.empty() ? line + "\n" : line + ": " + r.detail + "\n";
  }
  return out;
}

Json json_of(const std::vector<AssumptionResult>& results, const std::string& device) {
  Json list = Json::array();
  for (const AssumptionResult& r : results)
    list.push_back({{"name", r.name}, {"result", text_of(r.kind)}, {"detail", r.detail}});
  return {{"device", device}, {"assumptions", list}};
}

ExitCode assumptions(const AssumptionsOptions& o) {
  auto device = hip::open_device(o.device);
  if (!device) return complain("assumptions", device.error());
  const auto results = hip::test_assumptions(**device);
  if (!results) return complain("assumptions", results.error());
  ExitCode code = ExitCode::held;
  for (const AssumptionResult& r : *results)
    if (r.kind == AssumptionResult::Kind::differs) code = ExitCode::failed;
  return finish(
      "assumptions",
      o.json ? json_of(*results, (*device)->properties().label).dump(2) + "\n" : table_of(*results),
      code);
}

}  // namespace

void add_assumptions(Command& app, ExitCode& exit) {
  auto options = std::make_shared<AssumptionsOptions>();
  Command c = app.add_subcommand("assumptions", "Test on a device what its emulator assumes");
  c.add_option("--device", options->device, "auto, hip:0, emulated:gfx942 or emulated:gfx950")
      .show_default();
  c.add_flag("--json", options->json, "Print one JSON object");
  c.footer(kAssumptionsFooter);
  c.callback([options, &exit] { exit = assumptions(*options); });
}

}  // namespace mla::cli
