#include "properties/step/estimate.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/case/batch.hpp"
#include "core/shape/resolved_shape.hpp"
#include "core/units.hpp"

namespace mla::prop {
namespace {

// Doubles throughout: a line may ask for more than 2^63 bytes.
struct Totals {
  double rows = 0;
  double keys = 0;
  double slots = 0;    // keys in whole blocks
  double triples = 0;  // (row, head, key)
  double requests = 0;
  double longest = 0;    // keys of one request
  double most_rows = 0;  // of one request
};

Totals totals_of(const Case& c, const std::vector<RequestSpec>& step) {
  Totals t;
  const auto add = [&](const RequestSpec& r, std::int64_t count) {
    const auto n = static_cast<double>(count);
    t.rows += n * static_cast<double>(r.qo_len);
    t.keys += n * static_cast<double>(r.kv_len);
    t.slots += n * static_cast<double>(round_up(r.kv_len, c.block_size));
    t.triples += n * static_cast<double>(r.qo_len * r.kv_len) * static_cast<double>(c.heads);
    t.requests += n;
    t.longest = std::max(t.longest, static_cast<double>(r.kv_len));
    t.most_rows = std::max(t.most_rows, static_cast<double>(r.qo_len));
  };
  for (const RequestSpec& r : step) add(r, 1);
  // A padding request has at most the rows of the others, and as many keys.
  const auto padded = static_cast<std::int64_t>(t.most_rows);
  add({padded, padded}, c.pad_requests);
  return t;
}

// Entries of kv_indices. Where every row is a request of its own, the keys of a request are listed
// once for each of its rows.
double listed_pages(const Case& c, const Totals& t) {
  const auto page = static_cast<double>(c.page_size);
  if (c.kind() != StepKind::decode || t.most_rows <= 1) return t.keys / page;
  Batch lengths;
  lengths.requests = padded_requests(c);
  const auto shape = resolve_shape(c, lengths);
  if (!shape || shape->route != Route::persistent_rows) return t.keys / page;
  double pages = 0;
  for (const RequestSpec& r : lengths.requests)
    pages += static_cast<double>(r.qo_len) * static_cast<double>(ceil_div(r.kv_len, c.page_size));
  return pages;
}

// The cache, Q and results of a step of each kind, as properties/ and the backends allocate them.
Estimate of_step(const Case& c, const Totals& t) {
  const RowWidths widths = c.widths();
  const auto dims = static_cast<double>(widths.value().count());
  Estimate e;
  const auto heads = static_cast<double>(c.heads);
  const auto block = static_cast<double>(c.block_size);
  const double blocks = t.requests * (t.longest / block + 1);
  e.lists = 8 * (blocks + listed_pages(c, t));
  e.work = t.triples * (static_cast<double>(widths.key().count()) + dims);
  if (c.kind() == StepKind::prefill) {
    e.cache = (t.slots + block) * heads * 640;  // 192 + 128 elements of bf16
    e.query = t.rows * heads * 1024;            // Q and the new keys and values
    e.results = t.rows * heads * 128 * 12;
    e.reference = t.rows * heads * 128 * 16;
    e.work = t.triples * 320;
    return e;
  }
  if (c.kind() == StepKind::fa) {
    const auto dim = static_cast<double>(c.fa().head_dim);
    const auto kv_heads = static_cast<double>(c.fa().kv_heads);
    e.cache = (t.slots + block) * kv_heads * dim * 8;  // host and device
    e.query = t.rows * (heads + 2 * kv_heads) * dim * 4;
    e.results = t.rows * heads * dim * 8;
    e.reference = t.rows * heads * dim * 16;
    e.work = t.triples * 2 * dim;
    return e;
  }
  e.lists += 8 * static_cast<double>(c.decode().spare.entries);
  const auto kernel_heads = static_cast<double>(round_up(c.heads, 16));
  e.cache = (t.slots + block) * static_cast<double>(widths.key_bytes(c.dtype.kv));
  e.query = t.rows * heads * static_cast<double>(widths.key_bytes(c.dtype.q));
  // A unit writes partial rows for a piece at an end of its share, of up to 128 packed rows.
  const double partial_rows =
      static_cast<double>(c.compute_units) * std::min(128.0, t.most_rows * kernel_heads);
  e.results = (3 * t.rows * kernel_heads + partial_rows) * dims * sizeof(float);
  e.reference = t.rows * heads * dims * 2 * sizeof(double);
  return e;
}

}  // namespace

double Estimate::bytes(Held held) const {
  // A property holds a changed copy of the tensors, another one another case's; of two results only
  // one is compared with the reference at a time.
  constexpr double kProcess = 32 << 20;
  const double sets = held == Held::own ? 1 : 3;
  return kProcess + sets * (cache + query) + 1.5 * results + reference + 2 * lists;
}

double Estimate::seconds(std::int64_t properties) const {
  constexpr double kMultiplyAddsASecond = 1e10;
  constexpr double kDrawingAByte = 4;  // of the cache, in multiply-adds
  constexpr double kExecutions = 2;    // that a property looks at
  return (work + kDrawingAByte * cache) * kExecutions * static_cast<double>(properties) /
         kMultiplyAddsASecond;
}

Estimate estimate_of(const Case& c, const ExecutionLimits& limits) {
  Estimate largest;
  double work = 0;
  std::vector<std::vector<RequestSpec>> steps{c.requests};
  steps.insert(steps.end(), c.later_steps.begin(), c.later_steps.end());
  for (std::vector<RequestSpec>& requests : steps) {
    Case step = c;
    step.later_steps.clear();
    step.requests = std::move(requests);
    Estimate e = of_step(step, totals_of(step, step.requests));
    if (why_not_executed(step, limits)) e = {.lists = e.lists};
    work += e.work;
    if (e.bytes() > largest.bytes()) largest = e;
  }
  largest.work = work;
  return largest;
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = bytes / 1024;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, value < 9.95 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

std::string need_text(const Case& c, const Estimate& e, Held held) {
  return format_case(c) + ": judging it needs about " + bytes_text(e.bytes(held)) +
         " of memory (cache " + bytes_text(e.cache) + ", query " + bytes_text(e.query) +
         ", results " + bytes_text(e.results) + ", reference " + bytes_text(e.reference) +
         ", lists " + bytes_text(e.lists) + (held == Held::own ? ")" : ", in part several times)");
}

}  // namespace mla::prop
