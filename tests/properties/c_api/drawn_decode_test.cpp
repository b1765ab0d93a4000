// Claims about decode steps that are drawn and called through the C interface: stage 1 and reduce
// give the bits of the CPU backend and stay within the reference's bounds, also over plans and
// splits that no planner makes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/engine/launch.hpp"
#include "core/engine/run_decode.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "properties/claims/support/damaged_launch.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/subject.hpp"
#include "tests/properties/c_api/caller.hpp"
#include "tests/properties/c_api/recut.hpp"
#include "tests/properties/drawn.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;
using namespace mla::test;

namespace {

// What the claims met, so that none holds because nothing was there to judge.
struct Met {
  std::int64_t keyless = 0;    // pieces of which a row sees no key
  std::int64_t maps_left = 0;  // reduces that were repeated without a final map
  std::int64_t folded = 0;
  std::int64_t scaled = 0;
};
Met met;

template <class T>
std::string bits_differ(const char* what, const std::vector<T>& found,
                        const std::vector<T>& wanted) {
  if (found.size() < wanted.size())
    return say(what, " has ", found.size(), " elements, wanted are ", wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (std::memcmp(&found[i], &wanted[i], sizeof(T)) != 0)
      return say(what, "[", i, "] is ", found[i], " through C, and ", wanted[i]);
  return {};
}

Result<DecodeResult> on_cpu(const DecodeMetadata& md, const DecodeTensors& tensors) {
  return run_decode(cpu_backend(), {md, tensors}, {.threads = 1, .record_stages = true},
                    StepHooks::none());
}

// The result of a caller in the rows and heads of the model, with what the launcher adds.
DecodeResult unpacked(const Caller& caller, const DecodeMetadata& md, const RowMap& rows) {
  DecodeResult out;
  unpack_rows(rows, md.shape.widths.value(), caller.out, caller.lse, out);
  write_keyless(md, out);
  return out;
}

// A plan of `md` through C: bits of both stages.
Outcome called(const DecodeMetadata& md, const DecodeTensors& tensors, Random& random,
               const Misuse& misuse, DecodeResult& found) {
  const auto wanted = on_cpu(md, tensors);
  if (!wanted) return refusal(wanted.error());
  const auto rows = RowMap::make(md);
  if (!rows) return refusal(rows.error());
  Caller caller({md, tensors}, *rows, random, misuse);
  const bool want_lse = md.shape.final_lse && random.below(2) == 0;
  const bool merge_lse = random.below(4) > 0;
  const std::int64_t backed = std::ssize(wanted->partial_lse) / rows->row_heads();
  if (const auto bad = caller.stage1(backed, want_lse); !bad.empty()) return failed(bad);
  std::string bad = bits_differ("output of stage 1", caller.out, wanted->stage1_out);
  if (bad.empty()) bad = bits_differ("split_data", caller.partial_out, wanted->partial_out);
  if (bad.empty()) bad = bits_differ("split_lse", caller.partial_lse, wanted->partial_lse);
  if (bad.empty() && want_lse) bad = bits_differ("lse", caller.lse, wanted->stage1_lse);
  if (!bad.empty()) return failed(bad);
  if (!want_lse) caller.lse = wanted->stage1_lse;
  caller.has_lse = merge_lse;
  Caller mapless = caller;
  if (bad = caller.reduce(*md.plan, random.below(3) * 8, true); !bad.empty()) return failed(bad);
  if (needs_no_map(*md.plan)) {
    if (bad = mapless.reduce(*md.plan, 0, false); !bad.empty()) return failed(bad);
    bad = bits_differ("final_output without a final map", mapless.out, caller.out);
    if (bad.empty()) bad = bits_differ("final_lse without a final map", mapless.lse, caller.lse);
    if (!bad.empty()) return failed(bad);
    ++met.maps_left;
  }
  found = unpacked(caller, md, *rows);
  if (bad = bits_differ("out", found.out, wanted->out); !bad.empty()) return failed(bad);
  if (!merge_lse) found.lse = wanted->lse;
  if (bad = bits_differ("final lse", found.lse, wanted->lse); !bad.empty()) return failed(bad);
  if (rows->fold() > 1) ++met.folded;
  if (tensors.q_scale != 1 || tensors.kv_scale != 1) ++met.scaled;
  return passed();
}

// Skips what the C interface has no call for: rows that the engine raises.
std::optional<Outcome> not_callable(Subject& subject) {
  if (subject.spec().kind() != StepKind::decode) return skipped("no decode step");
  if (!subject.metadata()) return refusal(subject.metadata().error());
  if (!subject.tensors()) return refusal(subject.tensors().error());
  if (subject.metadata()->shape.leading_rows > 0) return skipped("raised rows");
  return std::nullopt;
}

Outcome within_reference(Subject& subject, const DecodeMetadata& md, const DecodeResult& found) {
  const Case& c = subject.spec();
  const auto& wanted = subject.reference();
  if (!wanted) return refusal(wanted.error());
  const auto ours = c_reference(c, *subject.batch(), *subject.tensors());
  if (!ours) return failed(ours.error().message);
  std::string bad = bits_differ("reference of out", ours->out, wanted->out);
  if (bad.empty()) bad = bits_differ("bound of out", ours->out_bound, wanted->out_bound);
  if (bad.empty()) bad = bits_differ("reference of lse", ours->lse, wanted->lse);
  if (bad.empty()) bad = bits_differ("bound of lse", ours->lse_bound, wanted->lse_bound);
  if (!bad.empty()) return failed(bad);
  return compare({.result = found,
                  .reference = *ours,
                  .metadata = md,
                  .requests = subject.batch()->requests,
                  .heads = c.heads});
}

// The planner's plan, then one that is cut anew.
Outcome plans_hold(const Case& c, const Misuse& misuse) {
  Subject subject(c, cpu_backend(), nullptr);
  if (const auto skip = not_callable(subject)) return *skip;
  const DecodeMetadata& md = *subject.metadata();
  if (!md.plan) return skipped("no plan");
  Random random(c, "drawn plans");
  DecodeResult found;
  Outcome outcome = called(md, *subject.tensors(), random, misuse, found);
  if (outcome.verdict != Verdict::pass) return outcome;
  Recut other = recut(md, random, random.below(2) == 0);
  const StepLists lists(md);
  const DecodeMetadata again = lists.with(md, std::move(other.plan));
  outcome = called(again, *subject.tensors(), random, misuse, found);
  if (outcome.verdict != Verdict::pass) {
    outcome.message = "cut anew: " + outcome.message;
    return outcome;
  }
  met.keyless += other.keyless;
  return within_reference(subject, again, found);
}

// Of splits: a piece without keys is not written. A step without rows has no piece.
std::string pieces_differ(const Caller& caller, const DecodeResult& wanted) {
  const std::size_t pieces = std::max<std::size_t>(wanted.partial_lse.size(), 1);
  const std::size_t value = wanted.partial_out.size() / pieces;
  std::vector<float> out = wanted.partial_out;
  std::vector<float> lse = wanted.partial_lse;
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (!std::isnan(lse[i])) continue;
    lse[i] = -std::numeric_limits<float>::infinity();
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(i * value), value, 0.0F);
  }
  const std::string bad = bits_differ("split_lse", caller.partial_lse, lse);
  return bad.empty() ? bits_differ("split_data", caller.partial_out, out) : bad;
}

// Splits of the caller's own number; one entry of the list may be another one.
Outcome splits_hold(const Case& c, const Misuse& misuse) {
  Subject subject(c, cpu_backend(), nullptr);
  if (const auto skip = not_callable(subject)) return *skip;
  const DecodeMetadata& md = *subject.metadata();
  if (md.shape.route != Route::split) return skipped("a plan");
  Random random(c, "drawn splits");
  const std::int64_t splits = random.between(1, 6);
  const StepLists lists(md);
  DecodeMetadata own = lists.with(md, std::nullopt);
  own.shape.kv_splits = splits;
  const auto wanted = on_cpu(own, *subject.tensors());
  if (!wanted) return refusal(wanted.error());
  const auto rows = RowMap::make(own);
  if (!rows) return refusal(rows.error());
  Caller caller({own, *subject.tensors()}, *rows, random, misuse);
  std::vector<std::int32_t> indptr;
  for (std::int64_t r = 0; r <= own.requests().count(); ++r)
    indptr.push_back(static_cast<std::int32_t>(r * splits));
  std::vector<std::int32_t> wrong = indptr;
  const auto entry = static_cast<std::size_t>(random.below(std::ssize(wrong)));
  wrong[entry] +=
      static_cast<std::int32_t>(random.pick(std::vector<std::int64_t>{-1, 1, 64, -kFar}));
  const std::string refused = caller.split(splits, wrong);
  if (refused.find(say("2: num_kv_splits_indptr[", entry, "] is ", wrong[entry], ";")) != 0)
    return failed(say("a list of splits with entry ", entry, " ", wrong[entry], ": ", refused));
  if (const auto bad = caller.split(splits, indptr); !bad.empty()) return failed(bad);
  std::string bad = splits > 1 ? pieces_differ(caller, *wanted)
                               : bits_differ("the single split", caller.out, wanted->stage1_out);
  if (bad.empty() && splits == 1)
    bad = bits_differ("lse of the single split", caller.lse, wanted->stage1_lse);
  if (!bad.empty()) return failed(bad);
  if (bad = caller.reduce_splits(splits); !bad.empty()) return failed(bad);
  return within_reference(subject, own, unpacked(caller, own, *rows));
}

DrawnClaim plans(std::int64_t cases, const Misuse& misuse = {}, std::uint64_t seed = 1) {
  return {
      "drawn calls: stage 1 and reduce of a plan have the bits of the CPU backend, within the "
      "reference's bounds",
      {Regime::boundary, Regime::boundary, Regime::tiles},
      cases,
      [misuse](const Case& c) { return plans_hold(c, misuse); },
      seed};
}

DrawnClaim splits(std::int64_t cases, const Misuse& misuse = {}, std::uint64_t seed = 1) {
  return {
      "drawn calls: splits of the caller are those of the buffer, or the first other entry is "
      "named",
      {Regime::boundary, Regime::tiles},
      cases,
      [misuse](const Case& c) { return splits_hold(c, misuse); },
      seed};
}

}  // namespace

TEST_CASE(
    "drawn calls: stage 1 and reduce of a plan have the bits of the CPU backend, within the "
    "reference's bounds",
    "[c_api][drawn]") {
  met = {};
  require_drawn(plans(60));
  if (std::getenv("MLA_DRAWN_CASE") != nullptr) return;
  CHECK(met.keyless > 0);
  CHECK(met.maps_left > 0);
  CHECK(met.folded > 0);
  CHECK(met.scaled > 0);
}

TEST_CASE(
    "drawn calls: splits of the caller are those of the buffer, or the first other entry is "
    "named",
    "[c_api][drawn]") {
  require_drawn(splits(30));
}

TEST_CASE("drawn calls: what a caller gets wrong is noticed", "[c_api][drawn]") {
  const Misuse scales = {.name = "no scales", .no_scales = true};
  const Misuse together = {.name = "a stride that is left out", .pages_together = true};
  const Misuse halved = {.name = "half the scale of the softmax", .halved = true};
  for (const Misuse& misuse : {scales, together, halved}) {
    INFO(misuse.name);
    require_noticed(plans(60, misuse));
    require_noticed(splits(60, misuse));
  }
  for (const Misuse& misuse : {Misuse{.name = "no last work", .last_work = true},
                               Misuse{.name = "rows after those of the map", .other_rows = true}}) {
    INFO(misuse.name);
    require_noticed(plans(60, misuse));
  }
}

TEST_CASE("drawn calls: the fold of a plan is found where the last requests have no keys",
          "[c_api][drawn]") {
  for (const char* line :
       {"mla1:1q1s2_1q1s0;heads=17;block=16;page=16", "mla1:1q1s9_3q1s0;heads=128",
        "mla1:2q1s0_1q1s9_1q1s0;heads=64", "mla1:1q2s0_1q2s300_2q2s0;heads=32;cu=4"}) {
    INFO(line);
    const Outcome outcome = plans_hold(case_of(line), {});
    INFO(outcome.message);
    CHECK(outcome.verdict == Verdict::pass);
  }
}

TEST_CASE("drawn calls, many", "[.nightly]") {
  require_drawn(plans(1500, {}, 2));
  require_drawn(splits(500, {}, 2));
}
