#include "properties/step/fa/compare.hpp"

#include <algorithm>
#include <cmath>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

constexpr std::size_t kWorstFaElements = 5;  // elements named
constexpr std::size_t kFaFaults = 3;         // faults named

struct FaElement {
  std::size_t step = 0;
  std::size_t index = 0;
  bool unwritten = false;
  double got = 0;
  double want = 0;
  double bound = 0;
  [[nodiscard]] double ratio() const {
    const double r = std::fabs(got - want) / bound;
    return std::isnan(r) ? std::numeric_limits<double>::infinity() : r;
  }
};

bool worse_fa(const FaElement& a, const FaElement& b) {
  if (a.unwritten != b.unwritten) return a.unwritten;
  if (a.ratio() != b.ratio()) return a.ratio() > b.ratio();
  return a.step != b.step ? a.step < b.step : a.index < b.index;
}

std::int64_t request_of(const Batch& batch, std::int64_t row) {
  std::int64_t end = 0;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    end += batch.requests[r].qo_len;
    if (row < end) return static_cast<std::int64_t>(r);
  }
  return static_cast<std::int64_t>(batch.requests.size());
}

std::string describe(const std::vector<FaStepRun>& steps, const FaElement& e) {
  const FaStepRun& s = steps[e.step];
  const auto index = static_cast<std::int64_t>(e.index);
  const std::int64_t pair = index / s.layer.head_dim;
  const std::int64_t row = pair / s.layer.heads.count();
  std::string out = steps.size() > 1 ? say("step ", e.step, " ") : "";
  out += say(run_name(s, request_of(s.ordered.batch, row)), " ",
             row_name(s.ordered.batch.requests, row), " head ", pair % s.layer.heads.count(),
             " dim ", index % s.layer.head_dim);
  if (e.unwritten) return out + " was never written, the reference has " + number_text(e.want);
  return out + " is " + number_text(e.got) + ", the reference has " + number_text(e.want) +
         " and allows " + number_text(e.bound) + " (" + number_text(e.ratio()) +
         " times the bound)";
}

// The worst element of every (row, head) pair that has a wrong one; counts all wrong ones.
std::vector<FaElement> wrong_elements(const FaStepRun& run, std::size_t step, std::size_t& wrong) {
  const cpu::FaReference reference = reference_of(run);
  std::vector<FaElement> worst;
  const auto dim = static_cast<std::size_t>(run.layer.head_dim);
  for (std::size_t i = 0; i < reference.out.size(); ++i) {
    const std::uint16_t bits = run.result.out[i];
    const double got = bf16_to_float(bits);
    if (within_bound(got, reference.out[i], reference.out_bound[i])) continue;
    ++wrong;
    const FaElement e{step, i, bits == kPoisonBf16, got, reference.out[i], reference.out_bound[i]};
    if (!worst.empty() && worst.back().index / dim == i / dim) {
      if (worse_fa(e, worst.back())) worst.back() = e;
    } else {
      worst.push_back(e);
    }
  }
  return worst;
}

}  // namespace

std::string run_name(const FaStepRun& step, std::int64_t request) {
  const ThreeWaySplit& s = step.parts.split;
  if (request < s.decodes.count()) return "decode";
  return request < (s.decodes + s.extends).count() ? "extend" : "prefill";
}

Outcome compare_fa(const std::vector<FaStepRun>& steps) {
  std::vector<FaElement> worst;
  std::vector<std::string> faults;
  std::size_t wrong = 0;
  std::size_t all = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<FaElement> of_step = wrong_elements(steps[i], i, wrong);
    worst.insert(worst.end(), of_step.begin(), of_step.end());
    all += steps[i].result.out.size();
    for (const Fault& fault : steps[i].result.faults) faults.push_back("fault: " + fault.what);
  }
  if (worst.empty() && faults.empty()) return passed();
  std::sort(worst.begin(), worst.end(), worse_fa);
  Outcome outcome = worst.empty()
                        ? failed("every element is right, but a kernel saw a " + faults.front())
                        : failed(say(describe(steps, worst.front()), "; wrong are ", wrong, " of ",
                                     all, " elements"));
  worst.resize(std::min(worst.size(), kWorstFaElements));
  for (const FaElement& e : worst) outcome.details.push_back(describe(steps, e));
  for (std::size_t i = 0; i < std::min(faults.size(), kFaFaults); ++i)
    outcome.details.push_back(faults[i]);
  if (faults.size() > kFaFaults)
    outcome.details.push_back(say("and ", faults.size() - kFaFaults, " more faults"));
  return outcome;
}

std::optional<std::string> fa_difference(const FaStepRun& a, const FaStepRun& b) {
  const auto& x = a.result.out;
  const auto& y = b.result.out;
  const auto at = std::mismatch(x.begin(), x.end(), y.begin(), y.end());
  if (x.size() == y.size() && at.first == x.end()) return std::nullopt;
  return say("element ", at.first - x.begin(), " of ", x.size(), " differs");
}

}  // namespace mla::prop
