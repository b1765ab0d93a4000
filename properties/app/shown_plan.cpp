#include "properties/app/shown_plan.hpp"

#include <utility>
#include <variant>

#include "properties/app/draw_dump.hpp"
#include "properties/app/planned_step.hpp"

namespace mla::app {

Result<ShownPlans> plans_of_case(const Case& c, const std::string& line) {
  auto steps = plan_steps_of(c, plan::Fidelity::safe);
  if (!steps) return steps.error();
  std::vector<std::string> documents;
  std::vector<std::vector<std::int32_t>> pages;
  std::vector<std::string> tables;
  for (PlannedStep& step : *steps) {
    documents.push_back(std::move(step.document));
    pages.push_back(std::move(step.pages));
    tables.push_back(std::move(step.table));
  }
  auto file = dump::DumpFile::of(line, documents);
  if (!file) return file.error();
  return ShownPlans{std::move(*file), std::move(pages), std::move(tables)};
}

Result<ShownPlans> plans_of_file(const std::string& path) {
  auto file = dump::DumpFile::open(path);
  if (!file) return file.error();
  return ShownPlans{.file = std::move(*file)};
}

Result<ShownPlan> shown_plan(const ShownPlans& plans, std::size_t place) {
  const auto found = plans.file.read(place);
  if (!found) return found.error();
  auto answer = dump::check(*found);
  if (!answer) return plans.file.at(place, answer.error());
  auto drawn = draw_dump(*found, *answer);
  if (!drawn) return ShownPlan{std::move(*answer), drawn.error()};
  if (drawn->pages.empty() && place < plans.pages.size()) drawn->pages = plans.pages[place];
  show::ComparedPlan plan{.plan = std::move(*drawn), .heads = 0};
  // Folding makes planning requests of groups of heads.
  if (const auto* decode = std::get_if<dump::DecodeDump>(&found->step)) {
    plan.heads = decode->planned.call.input.key.heads_per_kv_head.count() / plan.plan.fold;
    plan.value = decode->planned.cache.widths.value();
  }
  return ShownPlan{std::move(*answer), std::move(plan)};
}

}  // namespace mla::app
