#include "hip_backend/gfx_emulator/run/run_words.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/say.hpp"

namespace mla::gfx {
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
  bool Checks::* member;
};
constexpr CheckWord kChecks[] = {
    {"waits", &Checks::waits},
    {"lds", &Checks::lds_races},
    {"global", &Checks::global_races},
    {"uninitialised", &Checks::uninitialised},
    {"barriers", &Checks::barriers},
    {"dropped", &Checks::dropped},
    {"banks", &Checks::bank_conflicts},
    {"lanes", &Checks::lanes},
    {"same-barrier", &Checks::same_barrier},
    {"coherence", &Checks::coherence},
};
constexpr std::string_view kShuffled = "shuffled.";

std::optional<Order> order_from(std::string_view words, std::uint64_t& seed) {
  if (words == "in-turn") return Order::round_robin;
  if (words == "reverse") return Order::reverse;
  if (!words.starts_with(kShuffled)) return std::nullopt;
  const auto value = number<std::uint64_t>(words.substr(kShuffled.size()));
  if (!value) return std::nullopt;
  seed = *value;
  return Order::random;
}

}  // namespace

Result<Checks> checks_from(std::string_view option, std::string_view text) {
  if (text.empty()) return Checks{};
  Checks checks = {.barriers = false};
  for (const std::string_view word : split(text)) {
    bool known = word == "all";
    std::string words = "all";
    for (const CheckWord& check : kChecks) {
      words += say(", ", check.word);
      known = known || check.word == word;
      if (check.word == word || (word == "all" && every_check.*check.member))
        checks.*check.member = true;
    }
    checks.barriers_by_name = checks.barriers_by_name || word == "barriers";
    if (!known) return bad(option, text, say("'", word, "' is no check; expected of ", words));
  }
  return checks;
}

Result<Schedule> schedule_from(std::string_view option, std::string_view text) {
  Schedule schedule;
  if (text.empty()) return schedule;
  std::vector<std::string_view> keys;
  for (const std::string_view part : split(text)) {
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    if (std::find(keys.begin(), keys.end(), key) != keys.end())
      return bad(option, text, say("'", key, "' is there twice"));
    keys.push_back(key);
    const std::string_view value =
        equals == part.npos ? std::string_view() : part.substr(equals + 1);
    if (key == "slice") {
      const auto slice = number<std::uint32_t>(value);
      if (!slice)
        return bad(option, text,
                   "slice takes a number of instructions, and 0 for turns to the next barrier");
      schedule.slice = *slice;
    } else if (key == "order") {
      const auto order = order_from(value, schedule.seed);
      if (!order) return bad(option, text, "order takes in-turn, reverse or shuffled.<seed>");
      schedule.order = *order;
    } else {
      return bad(option, text, say("'", key, "' is not known; expected slice=<n>, order=<order>"));
    }
  }
  return schedule;
}

Result<Arrival> arrival_from(std::string_view option, std::string_view text) {
  using Mode = Arrival::Mode;
  if (text.empty() || text == "early") return Arrival{};
  if (text == "late") return Arrival{.mode = Mode::late};
  const std::size_t dot = text.find('.');
  const std::string_view word = text.substr(0, dot);
  const auto value = dot == text.npos ? std::nullopt : number<std::uint64_t>(text.substr(dot + 1));
  if (value && word == "random") return Arrival{.mode = Mode::random, .number = *value};
  if (value && word == "after") return Arrival{.mode = Mode::after, .number = *value};
  return bad(option, text, "expected early, late, random.<seed> or after.<instructions>");
}

Result<MfmaMode> matrix_from(std::string_view option, std::string_view text) {
  if (text.empty() || text == "fast") return MfmaMode::fast;
  if (text == "exact") return MfmaMode::exact;
  return bad(option, text, "expected fast or exact");
}

Result<RunOptions> run_of_environment() {
  const auto words = [](const char* value) { return std::string_view(value ? value : ""); };
  const auto schedule =
      schedule_from("MLA_TESTBED_SCHEDULE", words(std::getenv("MLA_TESTBED_SCHEDULE")));
  if (!schedule) return schedule.error();
  const auto arrival =
      arrival_from("MLA_TESTBED_ARRIVAL", words(std::getenv("MLA_TESTBED_ARRIVAL")));
  if (!arrival) return arrival.error();
  RunOptions run;
  run.schedule = *schedule;
  run.arrival = *arrival;
  return run;
}

std::string words_of(const Checks& checks) {
  std::string words;
  for (const CheckWord& check : kChecks)
    if (checks.*check.member) words += say(words.empty() ? "" : ",", check.word);
  return words;
}

std::string words_of(const Schedule& schedule) {
  const std::string turns = say("slice=", schedule.slice);
  if (schedule.order == Order::round_robin) return turns;
  if (schedule.order == Order::reverse) return turns + ",order=reverse";
  return say(turns, ",order=", kShuffled, schedule.seed);
}

std::string words_of(const Arrival& arrival) {
  switch (arrival.mode) {
    case Arrival::Mode::early:
      return "early";
    case Arrival::Mode::late:
      return "late";
    case Arrival::Mode::random:
      return say("random.", arrival.number);
    case Arrival::Mode::after:
      break;
  }
  return say("after.", arrival.number);
}

std::string words_of(MfmaMode mode) {
  return mode == MfmaMode::exact ? "exact" : "fast";
}

}  // namespace mla::gfx
