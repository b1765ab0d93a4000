#include "properties/cli/fuzz_counted.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "core/io/checksum.hpp"
#include "core/say.hpp"
#include "properties/app/fuzz_inputs.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/progress.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/files/printable.hpp"
#include "properties/fuzz/target.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

// What is said of an input that ends the process; written before the input runs.
std::array<char, 512> last_words{};
std::array<char, 1 << 16> last_stack{};

// Async-signal-safe: write(), and signals.
void on_crash(int number) {
  if (write(STDERR_FILENO, last_words.data(), strnlen(last_words.data(), last_words.size())) < 0)
    _exit(1);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

// A sanitizer has handlers of its own, which say more.
void catch_crashes() {
#if !defined(__SANITIZE_ADDRESS__)
  stack_t stack = {};
  stack.ss_sp = last_stack.data();
  stack.ss_size = last_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int n : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(n, &action, nullptr);
#endif
}

void announce(const std::string& target, std::uint64_t seed, std::int64_t number) {
  std::snprintf(last_words.data(), last_words.size(),
                "FAIL %s input %lld ended the process\nREPRO: mla-testbed fuzz --target %s --seed "
                "%llu --number %lld\n",
                target.c_str(), static_cast<long long>(number), target.c_str(),
                static_cast<unsigned long long>(seed), static_cast<long long>(number));
}

std::optional<app::Finding> judge(const app::Item& target, const app::FuzzInputs& inputs,
                                  std::uint64_t seed, std::int64_t number) {
  announce(target.name, seed, number);
  const auto found = prop::fuzz::find_target(target.name)->run(inputs.at(number));
  if (!found) return std::nullopt;
  return app::Finding{number, files::printable(found->input), files::printable(found->what)};
}

struct Work {
  app::Record record;
  std::vector<app::FuzzInputs> inputs;  // of each target
};

Result<app::Record> begin(const CountedFuzz& o) {
  auto out = begin_record(app::RecordKind::fuzz, o);
  if (out && o.resume.empty())
    for (const std::string& name : o.targets) out->items.push_back({.name = name});
  return out;
}

// Reads the corpora; how many inputs there are follows from them.
Result<Work> prepare(const CountedFuzz& o, const InputsOf& inputs_of) {
  auto record = begin(o);
  if (!record) return record.error();
  const auto cases = parse_count("--cases", o.cases.empty() ? "0" : o.cases);
  if (!cases) return cases.error();
  Work work{std::move(*record), {}};
  for (app::Item& t : work.record.items) {
    auto inputs = inputs_of(t.name, work.record.seed);
    if (!inputs) return inputs.error();
    const std::string sum = io::hex64(inputs->checksum());
    if (o.resume.empty()) {
      t.corpus = sum;
      t.inputs = inputs->corpus_size() + *cases;
    } else if (t.corpus != sum) {
      return Error{ErrorCode::usage,
                   say("'", o.resume, "' is of another corpus of target ", t.name)};
    }
    work.inputs.push_back(std::move(*inputs));
  }
  return work;
}

// One input of each target.
ExitCode one_number(const CountedFuzz& o, Work& work) {
  const auto number = parse_count("--number", o.number);
  if (!number) return complain("fuzz", number.error());
  work.record.shard = {};
  for (std::size_t i = 0; i < work.record.items.size(); ++i) {
    app::Item& t = work.record.items[i];
    t.inputs = t.judged = 1;
    if (auto found = judge(t, work.inputs[i], work.record.seed, *number)) {
      t.failed = 1;
      t.add(std::move(*found));
    }
  }
  return publish("fuzz", work.record, o, app::accounts(work.record), {});
}

void judge_all(const CountedFuzz& o, Work& work) {
  app::Record& record = work.record;
  std::int64_t wanted = 0;
  std::int64_t done = 0;
  for (const app::Item& t : record.items) wanted += record.shard.of(t.inputs);
  Progress bar("inputs", !o.no_progress, std::nullopt);
  for (std::size_t i = 0; i < record.items.size(); ++i) {
    app::Item& t = record.items[i];
    done += t.judged;
    for (const std::int64_t end = record.shard.of(t.inputs); t.judged < end; ++t.judged) {
      if (interrupted()) return;
      const std::int64_t number = record.shard.index + t.judged * record.shard.count;
      if (auto found = judge(t, work.inputs[i], record.seed, number)) {
        ++t.failed;
        t.add(std::move(*found));
      }
      if (++done % 64 == 0) bar.update(done, wanted);
    }
  }
}

}  // namespace

ExitCode fuzz_counted(const CountedFuzz& o, const InputsOf& inputs_of) {
  if (const MaybeError bad = check_files(o.publication, o.written(), o.resume, {}))
    return complain("fuzz", *bad);
  catch_interrupts();  // before archives are unpacked, so that nothing of them is left
  auto work = prepare(o, inputs_of);
  if (!work) return complain("fuzz", work.error());
  catch_crashes();
  if (!o.number.empty()) return one_number(o, *work);
  judge_all(o, *work);
  return publish("fuzz", work->record, o, app::accounts(work->record), {});
}

}  // namespace mla::cli
