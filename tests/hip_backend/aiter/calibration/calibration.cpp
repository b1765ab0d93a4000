// aiter_calibration [--kernel WORD] [--plans N] [--random N] [--show] [--corpus FILE]
//
// Holds plan_check to the persistent kernels of the AITER whose directory hsa AITER_HSA names: no
// plan that it calls valid may come out wrong on one of them. N plans of each kind of change for
// each case of a kernel. Exit codes: 0 so it is, 1 not, 2 usage, 3 no such installation, 10 nothing
// to judge.
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "core/plan/tile_straddle.hpp"
#include "core/say.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "tests/hip_backend/aiter/calibration/kernel.hpp"
#include "tests/hip_backend/aiter/calibration/plan_changes.hpp"
#include "tests/hip_backend/aiter/calibration/verdicts.hpp"
#include "tests/hip_backend/aiter/installed.hpp"

using namespace mla;
using namespace mla::hip::aiter;
using namespace mla::hip::aiter::test;

namespace {

struct Options {
  std::string kernel;
  std::string corpus;
  std::int64_t plans = 3;
  std::int64_t random = 3;
  bool show = false;
};

bool parse(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--show") {
      o.show = true;
      continue;
    }
    if (++i == argc) return false;
    const std::string_view value = argv[i];
    const auto number = [value](std::int64_t& to) {
      return std::from_chars(value.data(), value.data() + value.size(), to).ec == std::errc{};
    };
    if (word == "--kernel") {
      o.kernel = value;
    } else if (word == "--corpus") {
      o.corpus = value;
    } else if (!(word == "--plans" && number(o.plans)) &&
               !(word == "--random" && number(o.random))) {
      return false;
    }
  }
  return true;
}

// What a kernel gets wrong with good plans as well, by the ids of docs/findings/aiter.md. It says
// nothing about a plan.
struct Excluded {
  std::string_view kernel;
  std::string_view where;  // within the line
  std::string_view with;   // the same
  std::string_view says;
  std::string_view id;
};
constexpr Excluded kExcluded[] = {
    {"a8w8_qh16_qseqlen2", "1q2s30_1q1s110", "", "the reference", "AITER-16"},
    {"gfx950 a16w16_qh64_qseqlen1", "heads=8;", "", "the reference", "AITER-18"},
    {"a8w8_qh32_qseqlen4_gqaratio8", "1q4s30_1q3s110", "lse=1", "after the LSE", "AITER-17"},
};
bool names(const Excluded& e, const std::string& kernel, const std::string& line) {
  return kernel.find(e.kernel) != std::string::npos && line.find(e.where) != std::string::npos &&
         line.find(e.with) != std::string::npos;
}

std::vector<PlanChange> changes_of(const KernelUnderTest& kernel, const Options& options,
                                   std::mt19937_64& random) {
  const plan::PlanCheckInput input = kernel.check_input(kernel.planned());
  const PlanWords base = words_of(input.plan);
  std::vector<PlanChange> all = rearranged(base, random);
  for (const auto& part : {single_words(base), damaged_works(base, input.page_size),
                           random_plans(input, options.random, random)})
    all.insert(all.end(), part.begin(), part.end());
  return some_of_each(std::move(all), options.plans, random);
}

// Whether the plan has a work that AITER-27 breaks. Only of a valid plan.
bool straddles(const std::string& kernel, const plan::PlanCheckInput& input) {
  return kernel.find("gfx950 a16w16_qh64_qseqlen1") != std::string::npos &&
         !plan::straddled_works(input).empty();
}

// What a kernel for ranks is asked as: the only rank, and the first, a middle and the last one,
// with as few keys on the others as there can be, and with more.
std::vector<Deal> deals_of(const RowKey& key) {
  if (!key.cprr || !key.causal) return {{}};
  return {{},
          {.ranks = 2, .rank = 0, .more = 0},
          {.ranks = 2, .rank = 1, .more = 1},
          {.ranks = 3, .rank = 1, .more = 0},
          {.ranks = 8, .rank = 7, .more = 3}};
}

class Calibration {
 public:
  Calibration(std::shared_ptr<Installation> installation, Options options)
      : installation_(std::move(installation)), options_(std::move(options)) {}

  void run_row(Arch arch, const ManifestRow& row) {
    const std::string kernel = kernel_family(arch, row);
    if (kernel.find(options_.kernel) == std::string::npos) return;
    for (const Case& spec : calibration_cases(arch, row.key))
      for (const Deal& deal : deals_of(row.key)) run_case(kernel, row, spec, deal);
  }
  [[nodiscard]] int finish() const {
    if (table_.plans() == 0) return std::puts("skipped: nothing to judge"), 10;
    table_.print();
    std::printf("\n%lld plans, %lld of them wrong and valid; %lld more show a known defect\n",
                static_cast<long long>(table_.plans()),
                static_cast<long long>(table_.wrong_valid()), static_cast<long long>(excluded_));
    bool stale = false;
    for (const auto& [id, shown] : seen_)
      if (!shown) stale = std::printf("%s is listed, but did not show\n", id.data()) > 0;
    if (!options_.corpus.empty() && !corpus_.write(options_.corpus))
      return std::printf("%s cannot be written\n", options_.corpus.c_str()), 3;
    return good_ && !stale && table_.wrong_valid() == 0 ? 0 : 1;
  }

 private:
  void run_case(const std::string& kernel, const ManifestRow& row, const Case& spec,
                const Deal& deal);
  // Whether this is a known defect of the kernel.
  bool is_excluded(const std::string& kernel, const std::string& line, const std::string& wrong);
  void judge(const std::string& kernel, const Case& spec, KernelUnderTest& test,
             const PlanChange& change);

  std::shared_ptr<Installation> installation_;
  Options options_;
  CalibrationTable table_;
  Corpus corpus_;
  std::map<std::string_view, bool> seen_;  // of kExcluded whose cases ran: whether it showed
  std::int64_t excluded_ = 0;
  bool good_ = true;
};

bool Calibration::is_excluded(const std::string& kernel, const std::string& line,
                              const std::string& wrong) {
  for (const Excluded& e : kExcluded) {
    if (!names(e, kernel, line)) continue;
    const bool shows = wrong.find(e.says) != std::string::npos;
    seen_[e.id] = seen_[e.id] || shows;
    if (shows) return ++excluded_, true;
  }
  return false;
}

void Calibration::judge(const std::string& kernel, const Case& spec, KernelUnderTest& test,
                        const PlanChange& change) {
  const plan::Plan plan = plan_of(change.plan);
  const plan::PlanCheckInput input = test.check_input(plan);
  const PlanVerdict verdict = {.wrong = test.run(plan), .violations = plan::plan_check(input)};
  if (is_excluded(kernel, format_case(spec), verdict.wrong)) return;
  const bool right = verdict.wrong.empty();
  if (verdict.violations.empty() && straddles(kernel, input)) {
    bool& shown = seen_["AITER-27"];
    shown = shown || !right;
    if (!right) return void(++excluded_);
  }
  table_.count(kernel, change.family, verdict);
  if (!input.cp_round_robin) corpus_.add(kernel, spec, change, input, verdict);
  tell(change, verdict, options_.show);
}

void Calibration::run_case(const std::string& kernel, const ManifestRow& row, const Case& spec,
                           const Deal& deal) {
  const std::string line = format_case(spec);
  const std::string dealt =
      deal.ranks > 1 ? say(", rank ", deal.rank, " of ", deal.ranks) : std::string();
  std::printf("%s: %s%s\n", row.file.c_str(), line.c_str(), dealt.c_str());
  std::string reason;
  const auto test = KernelUnderTest::make(spec, row, installation_, deal, reason);
  const std::string wrong = test == nullptr ? reason : test->run(test->planned());
  if (!wrong.empty()) {
    const bool listed = is_excluded(kernel, line, wrong);
    std::printf("  %s with the planner's plan: %s\n", listed ? "known" : "UNEXPECTED",
                wrong.c_str());
    good_ = good_ && listed;
    return;
  }
  std::mt19937_64 random(1);
  for (const PlanChange& change : changes_of(*test, options_, random))
    judge(kernel, spec, *test, change);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) return std::puts("usage: see calibration.cpp"), 2;
  int exit = 0;
  const auto installation = installed(exit);
  if (installation == nullptr) return exit;
  Calibration calibration(installation, options);
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    const Manifest* manifest = installation->manifest(arch);
    if (manifest == nullptr || hip::code_object(name(arch), "reduce").empty()) continue;
    for (const ManifestRow& row : *manifest)
      if (row.key.persistent && !row.key.prefill && installation->code(arch, row.file))
        calibration.run_row(arch, row);
  }
  return calibration.finish();
}
