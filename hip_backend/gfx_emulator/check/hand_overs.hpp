// Owns: what the workgroups of a launch told each other through atomics. They run one after the
// other.
//
// An atomic that writes publishes: it has a time, and with it goes how far its workgroup's stores
// had come. One that reads learns of the last publication at its address, and of all that the
// publisher had learned before. What was learned is acquired by a later invalidation of the caches,
// once the read has returned.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace mla::gfx {

class HandOvers {
 public:
  using Time = std::uint64_t;  // counted from 1
  static constexpr unsigned most_waves = 16;
  using Serials = std::array<std::uint32_t, most_waves>;  // of stores, by wave, counted from 1
  struct Stores {                                         // of a workgroup: up to which serial
    Serials written_back = {};
    Serials landed = {};  // in the L2 cache
  };
  struct Instruction {
    std::uint32_t at = 0, wave = 0;
  };
  // What the running workgroup knows of another.
  struct Known {
    Time seen = 0, acquired = 0;  // its last publication; 0: none
    Instruction flag;             // that published, of the other
    Instruction reader;           // of the running one: by what it was learned
  };

  void start_group(const std::array<std::uint32_t, 3>& id);
  // The number of the running workgroup, counted from 1.
  [[nodiscard]] std::uint32_t running() const {
    return static_cast<std::uint32_t>(parties_.size() - 1);
  }
  [[nodiscard]] const std::array<std::uint32_t, 3>& id(std::uint32_t party) const {
    return parties_[party].id;
  }
  void publish(std::uint64_t address, Instruction by, const Stores& stores);
  void learn(std::uint64_t address, Instruction by);
  // Readings so far, and those from one to another number have returned.
  [[nodiscard]] std::size_t readings() const { return parties_.back().readings.size(); }
  void returned(std::size_t begin, std::size_t end);
  void acquire();  // what has returned
  // Whether the running workgroup used an atomic on it that another one had published with.
  [[nodiscard]] bool is_flag(std::uint64_t address) const { return flags_.contains(address); }
  [[nodiscard]] const Known& known(std::uint32_t party);
  // The stores of a workgroup as they were at a time.
  [[nodiscard]] const Stores& stores_at(std::uint32_t party, Time time) const;

 private:
  struct Publication {  // the last one at an address
    std::uint32_t party = 0;
    Time time = 0;
    Instruction by;
  };
  struct Reading {
    Publication of;
    Time when = 0;
    Instruction by;
    bool returned = false, acquired = false;
  };
  struct Change {
    Time time = 0;
    Stores stores;
  };
  struct Party {
    std::array<std::uint32_t, 3> id = {};
    std::vector<Change> changes;  // of its stores, at its publications
    std::vector<Reading> readings;
  };
  void follow(Time Known::* reached, bool only_acquired);

  Time clock_ = 0;
  std::vector<Party> parties_ = std::vector<Party>(1);
  std::unordered_map<std::uint64_t, Publication> published_;
  std::unordered_set<Time> read_;            // by the running one: publications
  std::unordered_set<std::uint64_t> flags_;  // and their addresses
  std::vector<Known> known_;                 // by party
  bool outdated_ = true;
};

}  // namespace mla::gfx
