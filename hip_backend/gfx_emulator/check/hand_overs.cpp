#include "hip_backend/gfx_emulator/check/hand_overs.hpp"

#include <algorithm>

namespace mla::gfx {

void HandOvers::start_group(const std::array<std::uint32_t, 3>& id) {
  parties_.push_back({.id = id, .changes = {}, .readings = {}});
  read_.clear();
  flags_.clear();
  outdated_ = true;
}

void HandOvers::publish(std::uint64_t address, Instruction by, const Stores& stores) {
  auto& changes = parties_.back().changes;
  ++clock_;
  const bool same = !changes.empty() && changes.back().stores.landed == stores.landed &&
                    changes.back().stores.written_back == stores.written_back;
  if (!same) changes.push_back({clock_, stores});
  published_[address] = {running(), clock_, by};
}

void HandOvers::learn(std::uint64_t address, Instruction by) {
  const auto found = published_.find(address);
  if (found == published_.end() || found->second.party == running()) return;
  flags_.insert(address);
  if (!read_.insert(found->second.time).second) return;
  parties_.back().readings.push_back({.of = found->second, .when = ++clock_, .by = by});
  outdated_ = true;
}

void HandOvers::returned(std::size_t begin, std::size_t end) {
  auto& readings = parties_.back().readings;
  for (std::size_t k = begin; k < end; ++k) readings[k].returned = true;
}

void HandOvers::acquire() {
  for (Reading& reading : parties_.back().readings) {
    if (!reading.returned || reading.acquired) continue;
    reading.acquired = true;
    outdated_ = true;
  }
}

// From the own readings to those of the publishers, and so on: a publisher comes before its reader,
// so one pass from the last party to the first meets each after all that lead to it.
void HandOvers::follow(Time Known::* reached, bool only_acquired) {
  for (std::uint32_t party = running(); party > 0; --party) {
    const bool own = party == running();
    const Known via = known_[party];
    if (!own && via.*reached == 0) continue;
    for (const Reading& reading : parties_[party].readings) {
      if (own ? only_acquired && !reading.acquired : reading.when > via.*reached) continue;
      Known& of = known_[reading.of.party];
      if (of.*reached >= reading.of.time) continue;
      of.*reached = reading.of.time;
      if (only_acquired) continue;
      of.flag = reading.of.by;
      of.reader = own ? reading.by : via.reader;
    }
  }
}

const HandOvers::Known& HandOvers::known(std::uint32_t party) {
  if (outdated_) {
    known_.assign(parties_.size(), {});
    follow(&Known::seen, false);
    follow(&Known::acquired, true);
    outdated_ = false;
  }
  return known_[party];
}

const HandOvers::Stores& HandOvers::stores_at(std::uint32_t party, Time time) const {
  static constexpr Stores nothing = {};
  const auto& changes = parties_[party].changes;
  const auto after = std::upper_bound(changes.begin(), changes.end(), time,
                                      [](Time t, const Change& c) { return t < c.time; });
  return after == changes.begin() ? nothing : std::prev(after)->stores;
}

}  // namespace mla::gfx
