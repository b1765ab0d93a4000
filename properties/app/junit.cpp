#include "properties/app/junit.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "core/say.hpp"

namespace mla::app {
namespace {

// Escaped for text and attributes.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

std::string attribute(std::string_view name, std::string_view value) {
  return say(" ", name, "=\"", xml(value), "\"");
}

std::string testcase(const JunitCase& one) {
  const char* tag = one.outcome == JunitOutcome::failure ? "failure"
                    : one.outcome == JunitOutcome::error ? "error"
                                                         : "skipped";
  std::string out = say("    <testcase", attribute("classname", one.classname),
                        attribute("name", one.name), ">\n");
  for (const auto& [message, text] : one.notes)
    out += say("      <", tag, attribute("message", message),
               text.empty() ? "/>\n" : say(">", xml(text), "</", tag, ">\n"));
  if (!one.said.empty()) out += say("      <system-out>", xml(one.said), "</system-out>\n");
  return out + "    </testcase>\n";
}

std::string testsuite(const JunitSuite& suite) {
  const auto count = [&](const char* name, JunitOutcome outcome) {
    return attribute(name, num(std::ranges::count(suite.cases, outcome, &JunitCase::outcome)));
  };
  std::string out =
      say("  <testsuite", attribute("name", suite.name),
          attribute("tests", num(std::ssize(suite.cases))),
          count("failures", JunitOutcome::failure), count("errors", JunitOutcome::error));
  if (suite.seconds) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f", *suite.seconds);
    out += count("skipped", JunitOutcome::skipped) + attribute("time", seconds);
  }
  out += ">\n";
  if (!suite.properties.empty()) out += "    <properties>\n";
  for (const auto& [name, value] : suite.properties)
    out += say("      <property", attribute("name", name), attribute("value", value), "/>\n");
  if (!suite.properties.empty()) out += "    </properties>\n";
  for (const JunitCase& one : suite.cases) out += testcase(one);
  return out + "  </testsuite>\n";
}

}  // namespace

std::string junit_document(const std::vector<JunitSuite>& suites) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const JunitSuite& suite : suites) out += testsuite(suite);
  return out + "</testsuites>\n";
}

}  // namespace mla::app
