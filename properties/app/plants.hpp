// Plants: known defects, put back to show that their properties catch them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/engine/backend.hpp"
#include "properties/app/record.hpp"
#include "properties/judge/judge.hpp"

namespace mla::app {

// Draws random cases until the property of the plant fails or the time of the record is over;
// `progress` is called after each case. Nothing if it was stopped before it failed.
std::optional<Item> try_plant(const std::string& id, const Backend& backend, const Record& record,
                              const prop::Stopped& stopped, const std::function<void()>& progress);

// A line for each plant of the shard.
std::string plants_list(const Record& record);
// docs/reference/bugs.md: every defect of the corpus with its plants, or the reason why it has
// none.
std::string plants_page();

}  // namespace mla::app
