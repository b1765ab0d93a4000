// Claims about ledger files: what is wrong with one is said with entry, key and value.
#include "properties/app/ledger_file.hpp"

#include "tests/catch.hpp"

using namespace mla;

namespace {

std::string file_of(const std::string& entry) {
  return R"({"format": "mla-testbed ledger 2", "entries": [{"id": "BUG-1", "link": "l",)"
         R"( "mechanism": "m", )" +
         entry + "}]}";
}

std::string complaint(const std::string& text) {
  const auto ledger = app::parse_ledger(text, "file");
  REQUIRE_FALSE(ledger.ok());
  return ledger.error().message;
}

}  // namespace

TEST_CASE("ledger file: an entry is read whole", "[cli][ledger]") {
  const auto ledger = app::parse_ledger(
      file_of(R"("status": "fails", "backend": "aiter", "kernels": ["mla_a"], "properties":)"
              R"( ["P16"], "where": [{"heads": [8, {"min": 64}], "causal": true},)"
              R"( {"route": "split"}], "damage": ["nan", "value"], "claims": ["P18"], "witnesses":)"
              R"( [{"case": "mla1:1q1s3;heads=8", "property": "P16"}])"),
      "file");
  REQUIRE(ledger.ok());
  REQUIRE(ledger->size() == 1);
  const prop::LedgerEntry& entry = ledger->front();
  CHECK(entry.id == "BUG-1");
  CHECK(entry.mechanism == "m");
  CHECK(entry.backend == "aiter");
  CHECK(entry.kernels == std::vector<std::string>{"mla_a"});
  CHECK(entry.properties == std::vector{prop::find_property("P16")});
  CHECK(entry.claims == std::vector{prop::find_property("P18")});
  REQUIRE(entry.where.size() == 2);
  REQUIRE(entry.where[0].size() == 2);  // by name
  CHECK(entry.where[0][0].fact == prop::find_fact("causal"));
  CHECK(entry.where[0][0].ranges[0].min == 1);
  const prop::Condition& heads = entry.where[0][1];
  CHECK(heads.fact == prop::find_fact("heads"));
  REQUIRE(heads.ranges.size() == 2);
  CHECK(heads.ranges[0].min == 8);
  CHECK(heads.ranges[0].max == 8);
  CHECK(heads.ranges[1].min == 64);
  CHECK(heads.ranges[1].max > 1000);
  CHECK(entry.where[1][0].words == std::vector<std::string>{"split"});
  CHECK(prop::text_of(entry.damage) == "nan and value");
  REQUIRE(entry.witnesses.size() == 1);
  CHECK(entry.witnesses[0].c.heads == 8);
  CHECK(entry.witnesses[0].property == prop::find_property("P16"));
}

TEST_CASE("ledger file: the first format is refused with what to do", "[cli][ledger]") {
  CHECK(complaint(R"({"format": "mla-testbed ledger 1", "entries": []})") ==
        "the ledger 'file': its format is 'mla-testbed ledger 1', one entry for each property; "
        "this version reads 'mla-testbed ledger 2', one entry for each finding: write it anew "
        "(docs/reference/ledgers.md)");
}

TEST_CASE("ledger file: a mistake is named with its entry", "[cli][ledger]") {
  const auto entry_error = [](const std::string& entry) { return complaint(file_of(entry)); };
  CHECK(complaint("[]") ==
        "the ledger 'file': it is not a JSON object of the format "
        "'mla-testbed ledger 2'");
  CHECK(complaint("[x") == "the ledger 'file': it is not JSON: it breaks at line 1, column 2");
  CHECK(complaint(R"({"format": "mla-testbed ledger 2"})") ==
        "the ledger 'file': it has no list 'entries'");
  const std::string start = "the ledger 'file': entry 0 (BUG-1): key ";
  CHECK(entry_error(R"("status": "flaky", "damage": ["nan"])") ==
        start + "'status' is 'flaky', not fails or intermittent");
  CHECK(entry_error(R"("status": "fails", "damage": ["nan"])") ==
        start + "'witnesses' is empty: a finding that fails needs a case that does");
  CHECK(entry_error(R"("status": "intermittent")") ==
        start +
            "'damage' is empty: say how a result is wrong, of unwritten, nan, value, fault, "
            "refused, claim, keyless");
  const auto rest_error = [&](const std::string& rest) {
    return entry_error(R"("status": "intermittent", "damage": ["nan"], )" + rest);
  };
  CHECK(rest_error(R"("colour": 1)") ==
        start +
            "'colour' is unknown; there are id, link, mechanism, kernels, status, backend, "
            "properties, where, damage, claims, witnesses, kind, timing, own_plans, says");
  CHECK(rest_error(R"("backend": "hpi")") ==
        start + "'backend' is 'hpi', which is none; did you mean 'hip'?");
  CHECK_THAT(
      rest_error(R"("backend": "vulkan")"),
      mla::test::contains("'backend' is 'vulkan', which is none; there are cpu, cpu-portable"));
  CHECK_THAT(rest_error(R"("where": {"heads": {"min": 5, "max": 2}})"),
             mla::test::contains("has 'heads': {\"max\":2,\"min\":5}; expected a min that is not "
                                 "above its max"));
  CHECK(rest_error(R"("kind": "prefil")") ==
        start + "'kind' is 'prefil', not decode, prefill or fa");
  CHECK(rest_error(R"("kind": "prefill", "where": {"heads": 8})") ==
        start + "'where' is about decode steps: leave it out for kind prefill");
  CHECK(rest_error(R"("kind": "fa")") ==
        start + "'damage' is of a decode's results: for kind fa it is of claim");
  CHECK(entry_error(R"("status": "intermittent", "damage": ["fault"], "kind": "prefill")") ==
        start +
            "'damage' is of a decode's results: for kind prefill it is of nan and value and claim");
  CHECK(rest_error(R"("properties": ["P99"])") ==
        start + "'properties' names property 'P99', which is none");
  CHECK(rest_error(R"("claims": ["P98"])") ==
        start + "'claims' names property 'P98', which is none");
  CHECK(rest_error(R"("properties": "P05")") == start + "'properties' must be a list of strings");
  CHECK(rest_error(R"("where": {"head": 1})")
            .starts_with(start + "'where' names 'head'; a launch decides arch, route, dtype, "));
  CHECK(rest_error(R"("where": {"heads": "8"})") ==
        start + R"('where' has 'heads': "8"; expected a number or {"min": number, "max": number})");
  CHECK(rest_error(R"("where": {"heads": {"mn": 8}})").starts_with(start + "'where' has 'heads'"));
  CHECK(rest_error(R"("where": {"causal": 1})") ==
        start + "'where' has 'causal': 1; expected true or false");
  CHECK(rest_error(R"("where": {"route": "spilt"})") ==
        start +
            R"('where' has 'route': "spilt"; expected one of persistent, persistent-rows, split)");
  CHECK(rest_error(R"("where": {"route": []})") ==
        start + "'where' has 'route': []; expected at least one value");
  CHECK(rest_error(R"("where": [])") == start + "'where' is an empty list; leave the key out");
  CHECK(rest_error(R"("where": {})") ==
        start + "'where' must be an object with a fact, or a list of such");
  CHECK(rest_error(R"("witnesses": [{"case": "mla1:1q1s3;heads=x", "property": "P05"}])")
            .starts_with(start + "'witnesses' holds a case that is none: "));
  CHECK(rest_error(R"("witnesses": ["mla1:1q1s3"])") ==
        start + R"('witnesses' must be a list of {"case": line, "property": id})");
  CHECK(rest_error(R"("properties": ["P05"],)"
                   R"( "witnesses": [{"case": "mla1:1q1s3", "property": "P16"}])") ==
        start + "'witnesses' names P16, which is not among 'properties'");
}
