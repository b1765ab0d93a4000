// The main of every test executable. Catch2 2.13 exits 0 when a filter matches nothing and returns
// the number of failures otherwise; here a failure is exit 1, zero cases run is exit 4
// (inconclusive), and a case that could not run is exit 10 (skipped).
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/skip.hpp"

namespace {
std::size_t cases_run = 0;

struct CaseCounter : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats& stats) override {
    cases_run = stats.totals.testCases.total();
  }
};
CATCH_REGISTER_LISTENER(CaseCounter)
}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int bad = session.applyCommandLine(argc, argv); bad != 0) return 2;
  const auto& config = session.configData();
  const bool only_lists = config.showHelp || config.listTests || config.listTags ||
                          config.listTestNamesOnly || config.listReporters;
  const int failures = session.run();
  if (failures != 0) return 1;
  if (only_lists) return 0;
  if (cases_run == 0) {
    std::fputs("no test case ran\n", stderr);
    return 4;
  }
  for (const std::string& reason : mla::test::skips()) std::printf("skipped: %s\n", reason.c_str());
  return mla::test::skips().empty() ? 0 : 10;
}
