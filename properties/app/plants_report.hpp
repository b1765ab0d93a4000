// PlantsReport: which plants were tried and what caught them, as a record, text, JSON and JUnit.
//
//   {"format": "mla-testbed plants 1", "version": "0.2.0", "build": "0123", "seed": 1, "for":
//   60000,
//    "shard": [0, 3], "plants": ["BUG-021"], "tried": [{"id": "BUG-021", "cases": 17,
//      "case": "mla1:1q1s5", "block": "FAIL P04 ..."}]}
//
// It holds no times: shards merge into the very text that one run writes. Records may come from
// anywhere; everything is checked before it is used. Fails: with the file and what is wrong there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "properties/app/build_id.hpp"
#include "properties/judge/answers.hpp"
#include "properties/judge/judge.hpp"
#include "properties/step/verdict.hpp"

namespace mla::app {

struct PlantTried {
  std::string id;
  std::int64_t cases = 0;  // up to the one that caught it; all that were judged if none did
  std::string smallest;    // that case, shrunk; empty: not caught
  std::string block;       // and its FAIL block

  [[nodiscard]] bool caught() const { return !smallest.empty(); }
  // Not known where no case was judged.
  [[nodiscard]] bool missed() const { return !caught() && cases > 0; }
};

struct PlantsReport {
  std::uint64_t seed = 1;
  std::int64_t milliseconds = 0;  // for each plant
  prop::Shard shard;
  std::string build = build_id();
  std::vector<std::string> plants;  // of all shards, in the order of all_plants()
  std::vector<PlantTried> tried;    // of this one, in the same order

  [[nodiscard]] std::int64_t wanted() const { return shard.of(std::ssize(plants)); }
  [[nodiscard]] std::vector<std::string> of_shard() const;
  // What became of a plant; null if it was not tried.
  [[nodiscard]] const PlantTried* find(std::string_view id) const MLA_LIFETIME_BOUND;
  const PlantTried& add(PlantTried one);
  [[nodiscard]] std::int64_t caught() const;
  [[nodiscard]] std::int64_t missed() const;
  [[nodiscard]] prop::ExitCode exit_code() const;
};

// What became of one plant: `BUG-021 (what it is): caught`, and the FAIL block.
std::string plant_account(const PlantTried& tried);
// The table that ends a run.
std::string plants_table(const PlantsReport& report);
std::string plants_json(const PlantsReport& report);
std::string plants_junit(const PlantsReport& report);

std::string plants_record(const PlantsReport& report);
bool is_plants_record(std::string_view text);
Result<PlantsReport> read_plants_record(const std::string& path);

// Adds a further shard of the same run.
MaybeError merge_into(PlantsReport& all, const PlantsReport& one, const std::string& file,
                      const std::string& first);

// Draws random cases until the property of the plant fails or the time of the report is over;
// `progress` is called after each case. Nothing if it was stopped before it failed.
std::optional<PlantTried> try_plant(const std::string& id, const Backend& backend,
                                    const PlantsReport& report, const prop::Stopped& stopped,
                                    const std::function<void()>& progress);

// A line for each plant of the shard.
std::string plants_list(const PlantsReport& report);
// docs/reference/bugs.md: every defect of the corpus with its plants, or the reason why it has
// none.
std::string plants_page();

}  // namespace mla::app
