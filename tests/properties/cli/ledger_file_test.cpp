// Claims about ledger files: what is wrong with one is said with entry, key and value.
#include "properties/cli/ledger_file.hpp"

#include <catch2/catch.hpp>

using namespace mla;

namespace {

std::string file_of(const std::string& entry) {
  return R"({"format": "mla-testbed ledger 1", "entries": [{"id": "BUG-1", "link": "l",)"
         R"( "reason": "r", )" +
         entry + "}]}";
}

std::string complaint(const std::string& text) {
  const auto ledger = cli::parse_ledger(text, "file");
  REQUIRE_FALSE(ledger.ok());
  return ledger.error().message;
}

}  // namespace

TEST_CASE("ledger file: an entry is read whole", "[cli][ledger]") {
  const auto ledger = cli::parse_ledger(
      file_of(R"("status": "fails", "backend": "aiter", "property": "P16", "says": "row",)"
              R"( "where": {"heads": ["8", "64"]}, "witnesses": ["mla1:1q1s3;heads=8"])"),
      "file");
  REQUIRE(ledger.ok());
  REQUIRE(ledger->size() == 1);
  const prop::LedgerEntry& entry = ledger->front();
  CHECK(entry.id == "BUG-1");
  CHECK(entry.backend == "aiter");
  CHECK(entry.property == prop::find_property("P16"));
  CHECK(entry.says == "row");
  CHECK(entry.where.at("heads") == std::vector<std::string>{"8", "64"});
  REQUIRE(entry.witnesses.size() == 1);
  CHECK(entry.witnesses[0].heads == 8);
}

TEST_CASE("ledger file: a mistake is named with its entry", "[cli][ledger]") {
  const auto entry_error = [](const std::string& entry) { return complaint(file_of(entry)); };
  CHECK(complaint("[]") ==
        "the ledger 'file': it is no JSON object of the format "
        "'mla-testbed ledger 1'");
  CHECK(complaint("[x") == "the ledger 'file': it is no JSON: it breaks at line 1, column 2");
  CHECK(complaint(R"({"format": "mla-testbed ledger 1"})") ==
        "the ledger 'file': it has no list 'entries'");
  const std::string start = "the ledger 'file': entry 0 (BUG-1): key ";
  CHECK(entry_error(R"("status": "flaky", "property": "P16")") ==
        start + "'status' is 'flaky', not fails or quarantine");
  CHECK(entry_error(R"("status": "fails", "property": "P99")") ==
        start + "'property' is 'P99', which is none");
  CHECK(entry_error(R"("status": "fails", "property": "P16")") ==
        start + "'witnesses' is empty: an entry that must fail needs a case that does");
  CHECK(entry_error(R"("status": "quarantine", "property": "P16", "colour": 1)") ==
        start + "'colour' is unknown");
  CHECK(entry_error(R"("status": "quarantine", "property": "P16", "where": {"head": ["1"]})") ==
        start + "'where' names 'head', no field");
  CHECK(entry_error(R"("status": "quarantine", "property": "P16", "where": {"heads": 8})") ==
        start + "'where' must hold lists of strings");
  CHECK(entry_error(R"("status": "fails", "property": "P16", "where": {"heads": ["8"]},)"
                    R"( "witnesses": ["mla1:1q1s3;heads=16"])") ==
        start + "'witnesses' holds 'mla1:1q1s3;heads=16', which 'where' does not cover");
}
