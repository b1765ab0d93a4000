#include "properties/step/compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/step/one_factor.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

constexpr std::size_t kWorst = 5;   // (row, head) pairs named
constexpr std::size_t kFaults = 3;  // faults of the backend named

enum class Wrong : std::uint8_t { no, off, infinite, nan, unwritten };  // ascending in weight

struct Element {
  Wrong wrong = Wrong::no;
  double ratio = 0;  // error in units of the bound
  double got = 0;
  double want = 0;
  double bound = 0;
  std::int64_t row = 0;
  std::int64_t head = 0;
  std::int64_t dim = -1;  // -1: the LSE
};

// Heavier first, then farther off, then in the order of the batch: equal cases print equal blocks.
bool worse(const Element& a, const Element& b) {
  if (a.wrong != b.wrong) return a.wrong > b.wrong;
  if (a.ratio != b.ratio) return a.ratio > b.ratio;
  return a.row != b.row ? a.row < b.row : a.head < b.head;
}

// Only called for elements that are not within their bound.
Element judge(double got, double want, double bound, bool poison) {
  Element e{.wrong = Wrong::off, .got = got, .want = want, .bound = bound};
  if (std::isinf(got) != std::isinf(want)) e.wrong = Wrong::infinite;
  if (std::isnan(got)) e.wrong = Wrong::nan;
  if (poison) e.wrong = Wrong::unwritten;
  const double ratio = std::fabs(got - want) / bound;
  e.ratio = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  return e;
}

struct Tally {
  std::vector<Element> worst;  // of each (row, head) pair with a wrong element
  std::vector<bool> dims;      // with a wrong element of out
  std::int64_t wrong_out = 0;
  std::int64_t wrong_lse = 0;
};

// Looks at the outputs and the LSE of one (row, head) pair.
void judge_pair(const ComparedRows& c, std::int64_t row, std::int64_t head, Tally& tally) {
  const auto pair = static_cast<std::size_t>(row * c.heads + head);
  Element worst;
  const auto keep = [&](Element e, std::int64_t dim) {
    e.row = row, e.head = head, e.dim = dim;
    if (worse(e, worst)) worst = e;
  };
  const auto dims = static_cast<std::size_t>(c.dims);
  for (std::size_t d = 0; d < dims; ++d) {
    const std::size_t i = pair * dims + d;
    const std::uint16_t bits = c.out[i];
    const double got = bf16_to_float(bits);
    if (within_bound(got, c.reference.out[i], c.reference.out_bound[i])) continue;
    ++tally.wrong_out;
    tally.dims[d] = true;
    keep(judge(got, c.reference.out[i], c.reference.out_bound[i], bits == kPoisonBf16),
         static_cast<std::int64_t>(d));
  }
  const float lse = c.reference.lse.empty() ? 0 : c.lse[pair];
  if (!c.reference.lse.empty() &&
      !within_bound(lse, c.reference.lse[pair], c.reference.lse_bound[pair])) {
    ++tally.wrong_lse;
    keep(judge(lse, c.reference.lse[pair], c.reference.lse_bound[pair],
               std::bit_cast<std::uint32_t>(lse) == kPoisonF32),
         -1);
  }
  if (worst.wrong != Wrong::no) tally.worst.push_back(worst);
}

std::string place(const ComparedRows& c, const Element& e) {
  const std::string where =
      say(c.run ? c.run(e.row) + " " : "", row_name(c.requests, e.row), " head ", e.head);
  if (e.dim < 0) return "LSE of " + where;
  return say(c.reference.lse.empty() ? "" : "out of ", where, " dim ", e.dim);
}

std::string describe(const ComparedRows& c, const Element& e) {
  const std::string where = place(c, e);
  const std::string want =
      e.bound == cpu::kNotEvaluated ? "" : ", the reference has " + number_text(e.want);
  switch (e.wrong) {
    case Wrong::unwritten:
      return where + " was never written" + want;
    case Wrong::nan:
      return where + " is NaN" + want;
    case Wrong::infinite:
      return where + " is " + number_text(e.got) + want;
    default:
      return where + " is " + number_text(e.got) + want + " and allows " + short_text(e.bound) +
             " (" + short_text(e.ratio) + " times the bound)";
  }
}

void add_faults(const std::vector<Fault>& faults, std::vector<std::string>& details) {
  for (std::size_t i = 0; i < std::min(kFaults, faults.size()); ++i)
    details.push_back("fault: " + faults[i].what);
  if (faults.size() > kFaults)
    details.push_back(say("and ", faults.size() - kFaults, " more faults"));
}

// "; attention judged on 96 of 16384 rows x heads"; empty if all were.
std::string sample_text(const ComparedRows& c) {
  const auto pairs = static_cast<std::int64_t>(c.reference.lse_bound.size());
  const std::int64_t left_out =
      std::count(c.reference.lse_bound.begin(), c.reference.lse_bound.end(), cpu::kNotEvaluated);
  if (left_out == 0) return {};
  return say("; attention judged on ", pairs - left_out, " of ", pairs, " rows x heads");
}

std::int64_t request_of(std::span<const RequestSpec> requests, std::int64_t row) {
  std::int64_t first = 0;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    first += requests[r].qo_len;
    if (row < first) return static_cast<std::int64_t>(r);
  }
  return std::ssize(requests);  // rows after the last one
}

// "wrong: 1 of 8 requests, 1 of 19 rows, 16 of 16 heads, all dims", and what that looks like.
std::string extent(const ComparedRows& c, const Tally& tally) {
  std::set<std::int64_t> requests;
  std::set<std::int64_t> rows;
  std::set<std::int64_t> heads;
  for (const Element& e : tally.worst) {
    requests.insert(request_of(c.requests, e.row));
    rows.insert(e.row);
    heads.insert(e.head);
  }
  const std::int64_t wrong_dims = std::ranges::count(tally.dims, true);
  const auto all_requests = std::max<std::int64_t>(std::ssize(c.requests), std::ssize(requests));
  const std::string dims = wrong_dims == 0        ? "the LSE alone"
                           : wrong_dims == c.dims ? "all dims"
                                                  : say(wrong_dims, " of ", c.dims, " dims");
  const bool every_request = std::ssize(requests) == all_requests;
  const bool every_head = std::ssize(heads) == c.heads;
  std::string looks;
  if (all_requests > 1 && !every_request && every_head)
    looks = say("; ", requests.size() == 1 ? "one request" : "some requests",
                " with all heads: lists or plan");
  if (all_requests > 1 && every_request && !every_head)
    looks = "; some heads of every request: how heads are padded, folded or dealt to ranks";
  return say("wrong: ", requests.size(), " of ", all_requests, " requests, ", rows.size(), " of ",
             std::ssize(c.out) / (c.heads * c.dims), " rows, ", heads.size(), " of ", c.heads,
             " heads, ", dims, looks);
}

Outcome wrong_elements(const ComparedRows& c, Tally& tally) {
  const std::size_t shown = std::min(kWorst, tally.worst.size());
  std::sort(tally.worst.begin(), tally.worst.end(), worse);
  const Element& worst = tally.worst.front();
  const std::string of_lse =
      say(" of out and ", tally.wrong_lse, " of ", c.lse.size(), " of the LSE");
  Outcome outcome =
      failed(say(describe(c, worst), "; wrong are ", tally.wrong_out, " of ", c.out.size(),
                 " elements", c.reference.lse.empty() ? "" : of_lse, sample_text(c)));
  outcome.details.push_back(extent(c, tally));
  std::vector<std::int64_t> pairs;
  for (const Element& e : tally.worst)
    if (e.dim >= 0) pairs.push_back(e.row * c.heads + e.head);
  if (const auto factor = one_factor(c.out, c.reference, c.dims, pairs))
    outcome.details.push_back(say("one factor explains out: every element of these is ",
                                  short_text(*factor), " times the reference"));
  for (std::size_t i = 1; i < shown; ++i) outcome.details.push_back(describe(c, tally.worst[i]));
  if (c.blame)
    for (std::string& line : c.blame(worst.row, worst.head))
      outcome.details.push_back(std::move(line));
  add_faults(c.faults, outcome.details);
  return outcome;
}

}  // namespace

std::string row_name(std::span<const RequestSpec> requests, std::int64_t row) {
  std::int64_t first = 0;
  const std::string in_batch = say("row ", row, " of the batch");
  for (std::size_t r = 0; r < requests.size(); ++r) {
    if (row < first + requests[r].qo_len)
      return say("request ", r, " row ", row - first, " (", in_batch, ")");
    first += requests[r].qo_len;
  }
  return in_batch + " (of no request)";
}

bool within_bound(double got, double want, double bound) {
  return std::fabs(got - want) <= bound || got == want;  // the second for equal infinities
}

Outcome compare_elements(const ComparedRows& c) {
  const std::size_t pairs = c.reference.lse.size();  // 0: no LSE is compared
  if (c.out.size() != c.reference.out.size() || c.lse.size() != pairs)
    return failed(say("the result has ", c.out.size(), " elements of out and ", c.lse.size(),
                      " of the LSE, the reference ", c.reference.out.size(), " and ", pairs));
  Tally tally;
  tally.dims.resize(static_cast<std::size_t>(c.dims));
  const std::int64_t rows = std::ssize(c.out) / (c.heads * c.dims);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t head = 0; head < c.heads; ++head) judge_pair(c, row, head, tally);
  if (!tally.worst.empty()) return wrong_elements(c, tally);
  if (c.faults.empty()) return passed();
  Outcome outcome =
      failed("every element is right, but the backend saw a fault: " + c.faults.front().what);
  add_faults(c.faults, outcome.details);
  return outcome;
}

}  // namespace mla::prop
