#include <algorithm>
#include <cstdio>

#include "properties/app/report.hpp"
#include "properties/step/estimate.hpp"

namespace mla::app {

double cases_a_second(const prop::RunReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.cases) / report.seconds : 0;
}

std::string timing_table(const prop::RunReport& report, double peak_memory) {
  std::vector<prop::PropertyTally> tallies = report.tallies;
  std::ranges::stable_sort(tallies, std::ranges::greater{}, &prop::PropertyTally::seconds);
  double all = 0;
  for (const prop::PropertyTally& t : tallies) all += t.seconds;
  char text[120];
  std::snprintf(
      text, sizeof text,
      "%.1f cases a second; at most %s of memory; %.1f s in properties, of all workers:\n",
      cases_a_second(report), prop::bytes_text(peak_memory).c_str(), all);
  std::string out = text;
  for (const prop::PropertyTally& t : tallies) {
    if (t.seconds <= 0) continue;
    std::snprintf(text, sizeof text, "  %-4s %-28s %8.2f s %5.1f %%\n",
                  std::string(t.property->id).c_str(), std::string(t.property->name).c_str(),
                  t.seconds, 100 * t.seconds / all);
    out += text;
  }
  return out;
}

}  // namespace mla::app
