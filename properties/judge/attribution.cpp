#include "properties/judge/attribution.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/step/decode/stage_compare.hpp"

namespace mla::prop {
namespace {

void add_once(std::vector<std::size_t>& list, std::size_t entry) {
  if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
}

bool names(std::span<const Fault> faults, const Fault& one) {
  return std::any_of(faults.begin(), faults.end(),
                     [&one](const Fault& fault) { return fault.what == one.what; });
}

}  // namespace

Watch::Watch(const Backend& backend, const Ledger& ledger)
    : ForwardingBackend(backend), ledger_(ledger), peer_(cpu::make_cpu_backend()) {}

Result<DecodeResult> Watch::run(const DecodeLaunch& launch, const ExecutionOptions& options) const {
  SeenLaunch seen{&launch.metadata, covering(ledger_, launch, options), {}, {}};
  ExecutionOptions watched = options;
  watched.record_stages = options.record_stages || compares(seen.entries);
  Result<DecodeResult> result = inner().run(launch, watched);
  look(launch, watched, result, seen);
  launches_.push_back(std::move(seen));
  return result;
}

bool Watch::compares(const std::vector<std::size_t>& entries) const {
  // The canary and its like say nothing about launches.
  return std::any_of(entries.begin(), entries.end(), [this](std::size_t e) {
    return !ledger_[e].where.empty() || !ledger_[e].damage.within(Damage::claim);
  });
}

void Watch::look(const DecodeLaunch& launch, const ExecutionOptions& options,
                 const Result<DecodeResult>& result, SeenLaunch& seen) const {
  if (!result) {
    if (result.error().code == ErrorCode::unsupported) return;
    seen.damage.add(Damage::refused);
    seen.what = result.error().message;
    return;
  }
  std::optional<StageDifference> difference;
  std::vector<Fault> of_launch;
  const bool compared = compares(seen.entries);
  if (compared || !result->faults.empty()) {
    ExecutionOptions alone = options;
    alone.threads = 1;
    if (auto peer = peer_->run(launch, alone)) {
      if (compared) difference = first_stage_difference(launch, *peer, *result);
      of_launch = std::move(peer->faults);
    }
  }
  if (difference) {
    seen.damage.add(difference->damage);
    seen.what = difference->what;
  }
  for (const Fault& fault : result->faults) {
    // A compared backend reports the difference as a fault.
    if (difference && fault.what.starts_with(difference->what)) continue;
    // What the peer refuses as well is wrong with the launch, and not with its result.
    if (names(of_launch, fault)) continue;
    seen.damage.add(Damage::fault);
    if (seen.what.empty()) seen.what = fault.what;
  }
}

std::vector<std::size_t> covering(const Ledger& ledger, const DecodeLaunch& launch,
                                  const ExecutionOptions& options) {
  std::vector<std::size_t> entries;
  for (std::size_t e = 0; e < ledger.size(); ++e)
    if (covers(ledger[e], launch, options)) entries.push_back(e);
  return entries;
}

std::vector<std::size_t> explain(const Ledger& ledger, const Property& property, StepKind kind,
                                 std::span<const SeenLaunch> launches, const Outcome& failure) {
  const auto is_about = [&failure](const LedgerEntry& entry) {
    return failure.message.find(entry.says) != std::string::npos;
  };
  std::vector<std::size_t> out;
  bool all_right = true;
  for (const SeenLaunch& launch : launches) {
    if (launch.damage.none()) continue;
    all_right = false;
    DamageSet listed;
    for (const std::size_t e : launch.entries) {
      if (!covers(ledger[e], property) || !ledger[e].damage.meets(launch.damage) ||
          !is_about(ledger[e]))
        continue;
      listed.add(ledger[e].damage);
      add_once(out, e);
    }
    if (!launch.damage.within(listed)) return {};
  }
  if (!all_right) return out;
  const DamageSet seen = failure.damage.none() ? DamageSet(Damage::claim) : failure.damage;
  for (std::size_t e = 0; e < ledger.size(); ++e) {
    const LedgerEntry& entry = ledger[e];
    if (!covers_claim(entry, property, kind, seen) || !is_about(entry)) continue;
    const bool here = std::any_of(launches.begin(), launches.end(), [e](const SeenLaunch& l) {
      return std::find(l.entries.begin(), l.entries.end(), e) != l.entries.end();
    });
    if (here || entry.where.empty()) out.push_back(e);
  }
  return out;
}

std::vector<std::string> left_open(const Ledger& ledger, std::span<const SeenLaunch> launches) {
  std::vector<std::string> out;
  for (const SeenLaunch& launch : launches) {
    if (launch.damage.none()) continue;
    std::string line = "a launch is wrong: " + text_of(launch.damage) + "; the ledger";
    bool covered = false;
    for (const std::size_t e : launch.entries) {
      if (ledger[e].damage.within(Damage::claim)) continue;
      line += say(covered ? ", and" : "", " has ", ledger[e].id, " here for ",
                  text_of(ledger[e].damage));
      covered = true;
    }
    if (!covered) line += " has nothing here";
    line += ": " + launch.what;
    if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace mla::prop
