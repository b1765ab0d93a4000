// The main of every test executable. The versions of Catch2 differ in the exit code of a failure
// and of a filter that matches nothing; here a failure is exit 1, zero cases run is exit 4
// (inconclusive), and a case that could not run is exit 10 (skipped).
#define CATCH_CONFIG_RUNNER
#include <cstdio>

#include "tests/catch.hpp"
#include "tests/skip.hpp"
#if MLA_CATCH2 == 3
#include <catch2/catch_session.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

namespace {
std::size_t cases_run = 0;

struct CaseCounter : Listener {
  using Listener::Listener;
  void testRunEnded(const Catch::TestRunStats& stats) override {
    cases_run = stats.totals.testCases.total();
  }
};
CATCH_REGISTER_LISTENER(CaseCounter)

bool only_lists(Catch::Session& session) {
  const auto& config = session.configData();
#if MLA_CATCH2 == 3
  const bool names = config.listListeners;
#else
  const bool names = config.listTestNamesOnly;
#endif
  return names || config.showHelp || config.listTests || config.listTags || config.listReporters;
}
}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int bad = session.applyCommandLine(argc, argv); bad != 0) return 2;
  const int failures = session.run();
  if (only_lists(session)) return 0;
  if (cases_run == 0) {
    std::fputs("no test case ran\n", stderr);
    return 4;
  }
  if (failures != 0) return 1;
  for (const std::string& reason : mla::test::skips()) std::printf("skipped: %s\n", reason.c_str());
  return mla::test::skips().empty() ? 0 : 10;
}
