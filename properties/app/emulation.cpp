#include "properties/app/emulation.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include "core/say.hpp"
#include "core/suggest.hpp"

namespace mla::app {
namespace {

Error bad(std::string_view option, std::string_view value, const std::string& why) {
  return {ErrorCode::usage, say(option, " has value '", value, "': ", why)};
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t comma = list.find(',');
    words.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return words;
    list.remove_prefix(comma + 1);
  }
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct CheckWord {
  std::string_view word;
  bool gfx::Checks::* member;
};
constexpr CheckWord kChecks[] = {
    {"waits", &gfx::Checks::waits},
    {"lds", &gfx::Checks::lds_races},
    {"global", &gfx::Checks::global_races},
    {"uninitialised", &gfx::Checks::uninitialised},
    {"barriers", &gfx::Checks::barriers},
    {"dropped", &gfx::Checks::dropped},
    {"banks", &gfx::Checks::bank_conflicts},
    {"lanes", &gfx::Checks::lanes},
    {"same-barrier", &gfx::Checks::same_barrier},
    {"coherence", &gfx::Checks::coherence},
};

Result<gfx::Checks> read_checks(const std::string& text) {
  if (text.empty()) return gfx::Checks{};
  gfx::Checks checks = {.barriers = false};
  for (const std::string_view word : split(text)) {
    bool known = word == "all";
    std::vector<std::string_view> words = {"all"};
    for (const CheckWord& check : kChecks) {
      words.push_back(check.word);
      known = known || check.word == word;
      if (check.word == word || (word == "all" && gfx::every_check.*check.member))
        checks.*check.member = true;
    }
    if (!known)
      return bad("--checks", text,
                 say("'", word, "' is no check", did_you_mean_or_all(word, words)));
  }
  return checks;
}

Result<gfx::Schedule> read_schedule(const std::string& text) {
  gfx::Schedule schedule;
  if (text.empty()) return schedule;
  std::vector<std::string_view> keys;
  for (const std::string_view part : split(text)) {
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    if (std::find(keys.begin(), keys.end(), key) != keys.end())
      return bad("--schedule", text, say("'", key, "' is there twice"));
    keys.push_back(key);
    const std::string_view value =
        equals == part.npos ? std::string_view() : part.substr(equals + 1);
    if (key == "slice") {
      const auto slice = number<std::uint32_t>(value);
      if (!slice)
        return bad("--schedule", text,
                   "slice takes a number of instructions, and 0 for turns to the next barrier");
      schedule.slice = *slice;
    } else if (key == "order") {
      constexpr std::string_view kShuffled = "shuffled.";
      const auto seed = value.starts_with(kShuffled)
                            ? number<std::uint64_t>(value.substr(kShuffled.size()))
                            : std::nullopt;
      if (!seed && value != "in-turn" && value != "reverse")
        return bad("--schedule", text, "order takes in-turn, reverse or shuffled.<seed>");
      schedule.order = seed                 ? gfx::Order::random
                       : value == "reverse" ? gfx::Order::reverse
                                            : gfx::Order::round_robin;
      schedule.seed = seed.value_or(1);
    } else {
      return bad("--schedule", text,
                 say("'", key, "' is not known; expected slice=<n>, order=<order>"));
    }
  }
  return schedule;
}

Result<gfx::Arrival> read_arrival(const std::string& text) {
  using Mode = gfx::Arrival::Mode;
  if (text.empty() || text == "early") return gfx::Arrival{};
  if (text == "late") return gfx::Arrival{.mode = Mode::late};
  const std::size_t dot = text.find('.');
  const std::string_view word = std::string_view(text).substr(0, dot);
  const auto value = dot == text.npos
                         ? std::nullopt
                         : number<std::uint64_t>(std::string_view(text).substr(dot + 1));
  if (value && word == "random") return gfx::Arrival{.mode = Mode::random, .number = *value};
  if (value && word == "after") return gfx::Arrival{.mode = Mode::after, .number = *value};
  return bad("--arrival", text, "expected early, late, random.<seed> or after.<instructions>");
}

Result<gfx::MfmaMode> read_matrix(const std::string& text, std::string_view device) {
  if (text.empty() || text == "fast") return gfx::MfmaMode::fast;
  if (text != "exact") return bad("--matrix", text, "expected fast or exact");
  if (device.ends_with("gfx950"))
    return bad("--matrix", text,
               "no bit model of the matrix instructions of gfx950 has been published");
  return gfx::MfmaMode::exact;
}

}  // namespace

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
  const auto checks = read_checks(choice.checks);
  if (!checks) return checks.error();
  const auto schedule = read_schedule(choice.schedule);
  if (!schedule) return schedule.error();
  const auto matrix = read_matrix(choice.matrix, device);
  if (!matrix) return matrix.error();
  const auto arrival = read_arrival(choice.arrival);
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
