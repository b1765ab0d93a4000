// P31: the same step gives the same bits, in every buffer, whatever the order of slots and pieces
// and the number of threads, with scratch memory poisoned before.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/engine/run_decode.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/schedule.hpp"
#include "cpu_backend/threads.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/prefill/compare.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

// Numbers of threads that this process may have: schedules are judged on one thread, too.
std::vector<int> thread_counts() {
  return cpu::team(2) < 2 ? std::vector{1} : std::vector{1, 2};
}

template <class T>
std::optional<std::string> bytes_differ(const char* what, const std::vector<T>& a,
                                        const std::vector<T>& b) {
  if (a.size() != b.size()) return say(what, " has ", a.size(), " and ", b.size(), " elements");
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0)
      return say("element ", i, " of ", what, " differs");
  return std::nullopt;
}

// Two works for each of four slots: a seed keeps them together, some seed changes the order of the
// slots, and some seed the order inside a slot.
std::optional<std::string> schedules_alike(Random& random) {
  const std::vector<std::int64_t> slots{0, 0, 1, 1, 2, 2, 3, 3};
  const std::vector<std::int64_t> plain = cpu::schedule(slots, 0);
  bool other_slots = false;
  bool other_works = false;
  for (int n = 0; n < 16; ++n) {
    std::vector<std::int64_t> order = cpu::schedule(slots, random.next() | 1U);
    for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
      if (order[i] / 2 != order[i + 1] / 2) return "a schedule takes a slot apart";
      other_slots = other_slots || order[i] / 2 != static_cast<std::int64_t>(i / 2);
      other_works = other_works || order[i] > order[i + 1];
    }
    std::ranges::sort(order);
    if (order != plain) return "a schedule is no permutation of the tasks";
  }
  if (!other_slots) return "every schedule takes the slots in the plan's order";
  if (!other_works) return "every schedule takes the works of a slot in the plan's order";
  return std::nullopt;
}

// What stage 1 left has an element for each row and head of the kernel.
std::optional<std::string> stages_missing(const DecodeMetadata& md, const DecodeResult& result) {
  const std::int64_t pairs = md.rows().count() * md.shape.fold_ratio() * result.kernel_heads;
  const std::int64_t elements = pairs * md.shape.widths.value().count();
  if (std::ssize(result.stage1_out) == elements && std::ssize(result.stage1_lse) == pairs)
    return std::nullopt;
  return say(pairs, " (kernel row, head) pairs got ", result.stage1_out.size(),
             " elements of out and ", result.stage1_lse.size(), " of the LSE after stage 1");
}

// Launches are counted for the backend, the device and the kind of step that ran them alone, or a
// backend that hands its steps to another one would have run them.
std::optional<std::string> launches_mixed_up() {
  Launches all;
  all.add({"cpu", "avx512", StepKind::decode, "stage 1", 2});
  all.add({"cpu", kHost, StepKind::decode, "reduce", 1});
  all.add({"hip", "emulated:gfx942", StepKind::prefill, "merge", 3});
  all.add({"cpu", "avx512", StepKind::decode, "stage 1", 4});
  if (all.of("cpu", "avx512", StepKind::decode) == 6 &&
      all.of("cpu", kHost, StepKind::decode) == 1 &&
      all.of("hip", "emulated:gfx942", StepKind::prefill) == 3 &&
      !all.of("hip", "emulated:gfx942", StepKind::decode) &&
      !all.of("hip", "avx512", StepKind::decode) &&
      !all.of("cpu", "emulated:gfx942", StepKind::prefill))
    return std::nullopt;
  return "launches of another backend, device or kind of step are counted";
}

Outcome decode_determinism(Subject& subject) {
  const auto& first = subject.result();
  if (!first) return refusal(first.error());
  Random random(subject.spec(), "P31");
  if (auto why = schedules_alike(random)) return failed(std::move(*why));
  if (auto why = stages_missing(*subject.metadata(), *first)) return failed(std::move(*why));
  if (auto why = launches_mixed_up()) return failed(std::move(*why));
  for (const int threads : thread_counts()) {
    const std::uint64_t seed = random.next();
    const ExecutionOptions options{
        .schedule_seed = seed, .timing_seed = seed, .threads = threads, .record_stages = true};
    const auto again = run_decode(subject.backend(), {*subject.metadata(), *subject.tensors()},
                                  options, subject.hooks());
    const std::string where =
        say("with schedule ", options.schedule_seed, " on ", threads, " threads ");
    if (!again) return failed(where + "the run fails: " + again.error().message);
    auto why = bitwise_difference(*first, *again, subject.spec().heads);
    if (!why) why = bytes_differ("the partial output", first->partial_out, again->partial_out);
    if (!why) why = bytes_differ("the partial LSE", first->partial_lse, again->partial_lse);
    if (!why) why = bytes_differ("the output of stage 1", first->stage1_out, again->stage1_out);
    if (!why) why = bytes_differ("the LSE of stage 1", first->stage1_lse, again->stage1_lse);
    if (why) return failed(where + "the result differs: " + *why);
  }
  return passed();
}

Outcome prefill_determinism(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& first = *run->steps.front();
  Random random(first.spec, "P31");
  for (const int threads : thread_counts()) {
    Case other = first.spec;
    other.schedule_seed = random.next();
    const auto again = run_prefill({other}, subject.context(),
                                   {.threads = threads, .timing_seed = other.schedule_seed});
    const std::string where =
        say("with schedule ", other.schedule_seed, " on ", threads, " threads ");
    if (!again) return failed(where + "the run fails: " + again.error().message);
    const PrefillStep& step = *again->steps.front();
    if (step.result.faults.size() != first.result.faults.size())
      return failed(say(where, "the step has ", step.result.faults.size(), " faults, not ",
                        first.result.faults.size()));
    if (const auto why = difference(first, step))
      return failed(where + "the result differs: " + *why);
  }
  return passed();
}

}  // namespace

constexpr Property kP31{"P31", "determinism",
                        "Any schedule and number of threads gives the same bits in every buffer.",
                        by_kind<decode_determinism, prefill_determinism, nullptr>};

}  // namespace mla::prop
