#include "tests/hip_backend/aiter/checked_sweep.hpp"

#include <algorithm>

#include "hip_backend/gfx_emulator/check/static_waits.hpp"
#include "hip_backend/gfx_emulator/load.hpp"

namespace mla::hip::aiter::test {
namespace {

// "7", or "3 to 7".
template <class Count>
std::string span_of(const std::vector<Showed>& kernels, const Count& count) {
  std::vector<std::size_t> counts;
  for (const Showed& kernel : kernels) counts.push_back(static_cast<std::size_t>(count(kernel)));
  const auto [least, most] = std::ranges::minmax(counts);
  return least == most ? std::to_string(least)
                       : std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace

std::vector<Verdict> judge_row(Arch arch, const ManifestRow& row,
                               const std::shared_ptr<Installation>& installation,
                               const EmulatedOptions& device) {
  return row.key.prefill ? judge_prefill_row(arch, row, installation, device)
                         : judge_decode_row(arch, row, installation, device);
}

Result<Showed> look_at(Arch arch, const std::string& file, const Manifest& manifest,
                       const std::shared_ptr<Installation>& installation) {
  const auto bytes = installation->code(arch, file);
  if (!bytes) return bytes.error();
  const auto object = gfx::load_code_object(*bytes, {});
  if (!object) return object.error();
  Showed out;
  const gfx::Kernel& kernel = object->kernels()[0];
  for (const gfx::MissingWait& m : gfx::check_waits(*object, kernel).missing)
    out.paths.emplace(m.use, m.load);
  const auto note = [&](std::string_view name, const gfx::LaunchReport& report) {
    if (name != kernel.name) return;  // our reduce
    ++out.launches;
    for (const auto* const events : {&report.findings, &report.notes})
      for (const gfx::Event& event : *events) out.run[event.problem][event.pc] = event.line();
  };
  const gfx::RunOptions checks = {.checks = gfx::every_check, .finding_limit = 100'000};
  const gfx::RunOptions late = {.arrival = {.mode = gfx::Arrival::Mode::late}};
  for (const ManifestRow& row : manifest) {
    if (row.file != file) continue;
    judge_row(arch, row, installation, {.run = checks, .observe = note});
    const auto early = judge_row(arch, row, installation, {});
    const auto then = judge_row(arch, row, installation, {.run = late, .observe = {}});
    for (std::size_t k = 0; k < early.size(); ++k)
      out.late += early[k].wrong.empty() && !then[k].wrong.empty() ? 1 : 0;
    out.cases += static_cast<int>(early.size());
  }
  return out;
}

std::string family_of(std::string_view file) {
  std::string name(file.substr(0, file.rfind('.')));
  for (const std::string_view variant :
       {"_lse", "_cprr", "_msk0", "_msk1", "_causal0", "_causal1", "_causal"}) {
    const std::size_t at = name.find(variant);
    if (at != std::string::npos) name.erase(at, variant.size());
  }
  return name.starts_with("mla_") ? name.substr(4) : name;
}

std::string table_row(Arch arch, const std::string& family, const std::vector<Showed>& kernels) {
  std::string row = "| " + std::string(name(arch)) + " `" + family + "` | " +
                    std::to_string(kernels.size()) + " | " +
                    span_of(kernels, [](const Showed& k) { return k.paths.size(); });
  row += " | " + span_of(kernels, [](const Showed& k) {
           std::set<std::uint64_t> uses;
           for (const auto& [use, load] : k.paths) uses.insert(use);
           return uses.size();
         });
  const auto found = [&](gfx::Problem problem) {
    row += " | " + span_of(kernels, [&](const Showed& k) {
             const auto at = k.run.find(problem);
             return at == k.run.end() ? 0 : at->second.size();
           });
  };
  found(gfx::Problem::missing_wait);
  found(gfx::Problem::lds_race);
  found(gfx::Problem::global_race);
  found(gfx::Problem::uninitialised_register);
  found(gfx::Problem::uninitialised_lds);
  const auto sum = [&](int Showed::* member) {
    int total = 0;
    for (const Showed& k : kernels) total += k.*member;
    return std::to_string(total);
  };
  return row + " | " + sum(&Showed::late) + " of " + sum(&Showed::cases) + " |";
}

}  // namespace mla::hip::aiter::test
