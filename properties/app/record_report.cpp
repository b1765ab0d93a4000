// The reports of plants and fuzz, from the rows of their records.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/app/record_file.hpp"
#include "properties/app/record_form.hpp"

namespace mla::app {
namespace {

prop::ExitCode code_of(const std::vector<RecordRow>& rows) {
  const auto any = [&](JunitOutcome outcome, bool asked) {
    return std::ranges::any_of(rows, [=](const RecordRow& row) {
      return row.junit.outcome == outcome && row.asked == asked;
    });
  };
  if (any(JunitOutcome::failure, true)) return prop::ExitCode::failed;
  return any(JunitOutcome::passed, true) && !any(JunitOutcome::error, true)
             ? prop::ExitCode::held
             : prop::ExitCode::inconclusive;
}

}  // namespace

prop::ExitCode exit_code(const Record& record) {
  return code_of(form_of(record.kind).rows(record));
}

std::string account(const Record& record, const Item& item) {
  return form_of(record.kind).account(record, item);
}

std::string accounts(const Record& record) {
  std::string out;
  for (const Item& item : record.items) out += account(record, item);
  return out;
}

std::string verdict_table(const Record& record) {
  const RecordForm& form = form_of(record.kind);
  std::string out = form.head;
  for (const RecordRow& row : form.rows(record))
    if (!row.line.empty()) out += row.line + "\n";
  return out + form.ending(record);
}

std::string json_report(const Record& record) {
  const RecordForm& form = form_of(record.kind);
  std::vector<RecordRow> rows = form.rows(record);
  nlohmann::ordered_json out = {{"command", form.command},
                                {"seed", record.seed},
                                {"exit_code", static_cast<int>(code_of(rows))},
                                {form.items, nlohmann::ordered_json::array()}};
  for (RecordRow& row : rows) out[form.items].push_back(std::move(row.object));
  return json_text(out, 2);
}

std::string junit_report(const Record& record) {
  const RecordForm& form = form_of(record.kind);
  JunitSuite suite{.name = form.command};
  for (RecordRow& row : form.rows(record)) {
    row.junit.classname = say("mla-testbed.", form.command);
    suite.cases.push_back(std::move(row.junit));
  }
  return junit_document({suite});
}

}  // namespace mla::app
