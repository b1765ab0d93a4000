// JUnit XML: what of a report a machine reads, and its text. XML 1.0 has no way to write most
// control characters: they become '?'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mla::app {

using JunitPairs = std::vector<std::pair<std::string, std::string>>;

enum class JunitOutcome : std::uint8_t { passed, failure, error, skipped };

struct JunitCase {
  std::string classname = {};
  std::string name = {};
  JunitOutcome outcome = JunitOutcome::passed;
  JunitPairs notes = {};  // a message and a text, which may be empty, of what is not passed
  std::string said = {};  // empty: nothing
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases = {};
  JunitPairs properties = {};
  std::optional<double> seconds = {};  // given, the suite also says how many were skipped
};

std::string junit_document(const std::vector<JunitSuite>& suites);

}  // namespace mla::app
