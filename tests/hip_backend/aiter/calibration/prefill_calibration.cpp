// aiter_prefill_calibration [--plans N] [--show]
//
// Holds ps_check to the prefill kernels with a plan of the AITER whose directory hsa AITER_HSA
// names, and to this project's reduce after them: no plan that it calls valid may come out wrong.
// N plans of each kind of change for each kernel. Exit codes: 0 so it is, 1 not, 2 usage, 3 no such
// installation, 10 nothing to judge.
#include <charconv>
#include <cstdio>
#include <random>

#include "hip_backend/kernels/code_objects.hpp"
#include "tests/hip_backend/aiter/calibration/plan_changes.hpp"
#include "tests/hip_backend/aiter/calibration/verdicts.hpp"
#include "tests/hip_backend/aiter/installed.hpp"
#include "tests/hip_backend/aiter/planned_prefill.hpp"

using namespace mla;
using namespace mla::hip::aiter;
using namespace mla::hip::aiter::test;

namespace {

struct Options {
  std::int64_t plans = 20;
  bool show = false;
};

bool parse(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--show") {
      o.show = true;
    } else if (word == "--plans" && i + 1 < argc) {
      const std::string_view value = argv[++i];
      if (std::from_chars(value.data(), value.data() + value.size(), o.plans).ec != std::errc{})
        return false;
    } else {
      return false;
    }
  }
  return true;
}

std::vector<PlanChange> changes_of(const plan::Plan& plan, std::int64_t most) {
  std::mt19937_64 random(1);
  const PlanWords base = words_of(plan.view());
  std::vector<PlanChange> all = rearranged(base, random);
  for (const auto& part : {single_words(base), damaged_works(base, 1)})
    all.insert(all.end(), part.begin(), part.end());
  return some_of_each(std::move(all), most, random);
}

// False where the planner's own plan is wrong.
bool run_row(const ManifestRow& row, std::int64_t units, Installation& installation,
             const Options& options, CalibrationTable& table) {
  Case spec;
  spec.requests = {{300, 300}, {40, 40}};
  spec.heads = 2;
  spec.arch = Arch::gfx950;
  spec.step = PrefillSpec{};
  std::string reason;
  const auto step = PlannedPrefill::make(spec, units, row.key.causal, reason);
  if (step != nullptr) reason = step->run(step->planned(), installation, {});
  if (!reason.empty()) return std::printf("%s: %s\n", row.file.c_str(), reason.c_str()), false;
  for (const PlanChange& change : changes_of(step->planned(), options.plans)) {
    const plan::Plan plan = plan_of(change.plan);
    const PlanVerdict verdict = {.wrong = step->run(plan, installation, {}),
                                 .violations = step->check(plan)};
    table.count(kernel_family(spec.arch, row), change.family, verdict);
    tell(change, verdict, options.show);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) return std::puts("usage: see prefill_calibration.cpp"), 2;
  int exit = 0;
  const auto installation = installed(exit);
  if (installation == nullptr) return exit;
  const Manifest* manifest = installation->manifest(Arch::gfx950);
  CalibrationTable table;
  bool good = true;
  if (manifest != nullptr && !hip::code_object("gfx950", "reduce").empty())
    for (const ManifestRow& row : *manifest)
      if (row.key.persistent && row.key.prefill && installation->code(Arch::gfx950, row.file))
        for (const std::int64_t units : {1, 6})
          good = run_row(row, units, *installation, options, table) && good;
  if (table.plans() == 0 && good) return std::puts("skipped: nothing to judge"), 10;
  table.print();
  return good && table.wrong_valid() == 0 ? 0 : 1;
}
