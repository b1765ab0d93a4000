#include "properties/app/emulation.hpp"

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/run/run_words.hpp"

namespace mla::app {

bool EmulationChoice::given() const {
  return !checks.empty() || !schedule.empty() || !arrival.empty() || !matrix.empty();
}

std::string EmulationChoice::words() const {
  std::string out;
  if (!checks.empty()) out += checks == "all" ? " --checks" : " --checks=" + checks;
  if (!schedule.empty()) out += " --schedule " + schedule;
  if (!arrival.empty()) out += " --arrival " + arrival;
  if (!matrix.empty()) out += " --matrix " + matrix;
  return out;
}

Result<gfx::RunOptions> read_emulation(const EmulationChoice& choice, std::string_view device) {
  gfx::RunOptions run;
  run.profile = choice.profile;
  run.checks.bank_conflicts = choice.profile;
  run.trace = choice.trace;
  if (!choice.given()) return run;
  if (!device.starts_with("emulated:"))
    return Error{ErrorCode::usage,
                 say(choice.words().substr(1), " needs an emulated device, not '", device, "'")};
  const auto checks = gfx::checks_from("--checks", choice.checks);
  if (!checks) return checks.error();
  const auto schedule = gfx::schedule_from("--schedule", choice.schedule);
  if (!schedule) return schedule.error();
  const auto matrix = gfx::matrix_from("--matrix", choice.matrix);
  if (!matrix) return matrix.error();
  if (*matrix == gfx::MfmaMode::exact && device.ends_with("gfx950"))
    return Error{ErrorCode::usage,
                 say("--matrix has value '", choice.matrix, "': no bit model of the matrix ",
                     "instructions of gfx950 has been published")};
  const auto arrival = gfx::arrival_from("--arrival", choice.arrival);
  if (!arrival) return arrival.error();
  if (arrival->mode != gfx::Arrival::Mode::early && checks->any_per_instruction())
    return Error{ErrorCode::usage,
                 choice.words().substr(1) +
                     ": checks follow the rules and --arrival shows the numbers; use one of them"};
  run.arrival = *arrival;
  run.checks = *checks;
  run.checks.bank_conflicts = checks->bank_conflicts || choice.profile;
  run.schedule = *schedule;
  run.mfma = *matrix;
  return run;
}

}  // namespace mla::app
