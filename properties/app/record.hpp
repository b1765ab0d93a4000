// Record: what a run, a plants run or a fuzz run found, so that it can be split over machines,
// merged, and continued. As a file:
//
//   {"format": "mla-testbed record 1", "version": "0.1.0", "command": "run",
//    "arguments": ["--cases", "2000"], "identity": "0123456789abcdef", "build": "0123",
//    "shard": [0, 3], "texts": [...], "launches": [...], "backends": [{"name": "cpu",
//    "seconds": 1.5, "count": 667, "cases": [...]}]}
//   {"format": "mla-testbed plants 1", "version": "0.2.0", "build": "0123", "seed": 1,
//    "for": 60000, "shard": [0, 3], "plants": ["BUG-021"], "tried": [{"id": "BUG-021",
//    "cases": 17, "case": "mla1:1q1s5", "block": "FAIL P04 ..."}]}
//   {"format": "mla-testbed fuzz 1", "version": "0.2.0", "build": "0123", "seed": 1,
//    "shard": [0, 3], "targets": [{"name": "line", "corpus": "0123456789abcdef",
//    "inputs": 1197, "judged": 399, "failed": 0, "findings": []}]}
//
// A backend that runs an installed AITER also has `code`, a sum over its code objects. `arguments`
// are the options that decide what is judged; `identity` is a sum over cases, seed, properties and
// ledger, so that answers never meet another run's questions. Plants and fuzz hold no times: shards
// merge into the very text that one run writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifetime.hpp"
#include "properties/app/build_id.hpp"
#include "properties/judge/answers.hpp"

namespace mla::app {

inline constexpr std::int64_t kMostShards = 10'000;
inline constexpr std::size_t kKept = 10;  // findings of a target; all are counted

enum class RecordKind : std::uint8_t { run, plants, fuzz };

struct BackendAnswers {
  std::string name;
  std::string code = {};  // NamedBackend::code_sum(): the AITER that was judged; empty: none
  double seconds = 0;     // that judging has taken so far
  prop::Answers answers;
};

struct Finding {
  std::int64_t number = 0;  // of the input of a target
  std::string input;        // printable; of a plant the case that caught it, shrunk
  std::string what;         // printable; of a plant the FAIL block
};

// A plant that was tried, or a fuzz target.
struct Item {
  std::string name;
  std::string corpus = {};             // of a target: its checksum
  std::int64_t inputs = 0;             // of a target: in all shards
  std::int64_t judged = 0;             // in this one; of a plant: up to the case that caught it
  std::int64_t failed = 0;             // of these
  std::vector<Finding> findings = {};  // of a target: the first kKept by number

  // Of a plant. It is not known whether it is missed where no case was judged.
  [[nodiscard]] bool caught() const { return failed > 0; }
  [[nodiscard]] bool missed() const { return !caught() && judged > 0; }
  // Of a target.
  void add(Finding finding);
};

// What a kind of record does not have is empty.
struct Record {
  RecordKind kind = RecordKind::run;
  std::string build = build_id();
  prop::Shard shard;
  // Of a run.
  std::string command;
  std::vector<std::string> arguments;
  std::string identity;  // empty until the run is known
  std::vector<BackendAnswers> backends;
  // Of plants and fuzz.
  std::uint64_t seed = 1;
  std::vector<Item> items;
  std::int64_t milliseconds = 0;    // for each plant
  std::vector<std::string> plants;  // of all shards, in the order of all_plants()

  [[nodiscard]] std::vector<std::string> plants_of_shard() const;
  // What became of a plant; null if it was not tried.
  [[nodiscard]] const Item* find(std::string_view id) const MLA_LIFETIME_BOUND;
  // Adds a plant that was tried, in the order of `plants`.
  const Item& add(Item one);
};

}  // namespace mla::app
