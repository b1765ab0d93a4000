// The record of a counted fuzz run: read, written, merged and shown.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/app/record_form.hpp"
#include "properties/files/printable.hpp"
#include "properties/fuzz/target.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostInputs = 2'000'000'000'000;

Item read_target(files::Fields& fields, const prop::Shard& shard) {
  Item t{.name = fields.text("name"), .corpus = fields.text("corpus")};
  if (prop::fuzz::find_target(t.name) == nullptr)
    fields.refuse("there is no target '" + t.name + "'");
  t.inputs = fields.whole("inputs", kMostInputs);
  t.judged = fields.whole("judged", shard.of(t.inputs));
  t.failed = fields.whole("failed", t.judged);
  fields.each("findings", [&](files::Fields& one) {
    const std::int64_t number = one.whole("number", kMostInputs);
    if (number >= t.inputs || !shard.has(number))
      one.refuse(say("input ", number, " is of another shard"));
    t.findings.push_back(
        {number, files::printable(one.text("input")), files::printable(one.text("what"))});
  });
  const auto kept = std::min<std::int64_t>(t.failed, static_cast<std::int64_t>(kKept));
  if (std::ssize(t.findings) != kept)
    fields.refuse(say("target ", t.name, " has ", t.findings.size(), " findings; expected ", kept));
  return t;
}

void read_fuzz(files::Fields& fields, Record& record) {
  record.seed = fields.natural("seed");
  fields.each("targets", [&](files::Fields& one) {
    Item t = read_target(one, record.shard);
    if (record.find(t.name) != nullptr) one.refuse("target " + t.name + " is there twice");
    record.items.push_back(std::move(t));
  });
}

Json object_of(const Item& t) {
  Json findings = Json::array();
  for (const Finding& f : t.findings)
    findings.push_back({{"number", f.number}, {"input", f.input}, {"what", f.what}});
  return {{"name", t.name},     {"corpus", t.corpus}, {"inputs", t.inputs},
          {"judged", t.judged}, {"failed", t.failed}, {"findings", findings}};
}

void write_fuzz(const Record& record, Json& out) {
  Json targets = Json::array();
  for (const Item& t : record.items) targets.push_back(object_of(t));
  out.update({{"build", record.build},
              {"seed", record.seed},
              {"shard", {record.shard.index, record.shard.count}},
              {"targets", std::move(targets)}});
}

std::string add_fuzz(Record& all, const Record& one) {
  if (one.seed != all.seed) return "the seeds";
  if (one.items.size() != all.items.size()) return "the targets";
  for (std::size_t i = 0; i < one.items.size(); ++i) {
    Item& into = all.items[i];
    const Item& from = one.items[i];
    if (from.name != into.name) return "the targets";
    if (from.corpus != into.corpus) return "the corpora";
    if (from.inputs != into.inputs) return "the numbers of inputs";
    into.judged += from.judged;
    into.failed += from.failed;
    for (const Finding& f : from.findings) into.add(f);
  }
  return {};
}

std::string finding_block(const Record& record, const Item& t, const Finding& f) {
  return say("FAIL ", t.name, " ", f.input, "\n  ", prop::fuzz::find_target(t.name)->sentence,
             "\n  ", f.what, "\nREPRO: mla-testbed fuzz --target ", t.name, " --seed ", record.seed,
             " --number ", f.number, "\n");
}

std::string target_account(const Record& record, const Item& t) {
  std::string out;
  for (const Finding& f : t.findings) out += finding_block(record, t, f);
  return out;
}

RecordRow target_row(const Record& record, const Item& t) {
  const std::int64_t wanted = record.shard.of(t.inputs);
  RecordRow row;
  row.asked = wanted > 0;
  const char* verdict = "held";
  if (t.failed > 0) {
    row.junit.outcome = JunitOutcome::failure;
    verdict = "FAIL";
    for (const Finding& f : t.findings)
      row.junit.notes.emplace_back(f.what, finding_block(record, t, f));
  } else if (t.judged == 0 || t.judged < wanted) {
    row.junit.outcome = JunitOutcome::error;
    verdict = t.judged == 0 ? "nothing ran" : "interrupted";
    row.junit.notes.emplace_back(say(t.judged, " of ", wanted, " inputs were judged"), "");
  }
  char line[160];
  std::snprintf(line, sizeof line, "%-17s %11lld %9lld  %s", t.name.c_str(),
                static_cast<long long>(t.judged), static_cast<long long>(t.failed), verdict);
  row.line = line;
  row.object = object_of(t);
  row.object["verdict"] = verdict;
  row.junit.name = t.name;
  row.junit.said = say(prop::fuzz::find_target(t.name)->sentence, " Judged ", t.judged, ".");
  return row;
}

std::vector<RecordRow> target_rows(const Record& record) {
  std::vector<RecordRow> rows;
  for (const Item& t : record.items) rows.push_back(target_row(record, t));
  return rows;
}

std::string fuzz_ending(const Record& record) {
  std::int64_t judged = 0;
  std::int64_t wanted = 0;
  for (const Item& t : record.items) {
    judged += t.judged;
    wanted += record.shard.of(t.inputs);
  }
  if (judged == wanted) return {};
  return say("interrupted: ", judged, " of ", wanted, " inputs were judged\n");
}

}  // namespace

const RecordForm kFuzzForm = {.format = "mla-testbed fuzz 1",
                              .what = "a fuzz run",
                              .read = read_fuzz,
                              .write = write_fuzz,
                              .add = add_fuzz,
                              .command = "fuzz",
                              .items = "targets",
                              .head = "target                 inputs  findings  verdict\n",
                              .rows = target_rows,
                              .ending = fuzz_ending,
                              .account = target_account};

}  // namespace mla::app
