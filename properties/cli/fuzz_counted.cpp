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
#include "properties/cli/publisher.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"
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

std::optional<app::FuzzFinding> judge(const app::FuzzTally& tally, const app::FuzzInputs& inputs,
                                      std::uint64_t seed, std::int64_t number) {
  announce(tally.name, seed, number);
  const auto found = prop::fuzz::find_target(tally.name)->run(inputs.at(number));
  if (!found) return std::nullopt;
  return app::FuzzFinding{number, files::printable(found->input), files::printable(found->what)};
}

// Writes what was asked for, and ends.
ExitCode publish(const app::FuzzReport& report, const std::string& command,
                 const std::string& record, const std::string& junit, bool json) {
  Publisher out(command);
  out.file(record, [&] { return app::fuzz_record(report); });
  out.file(junit, [&] { return app::fuzz_junit(report); });
  return out.finish(json ? app::fuzz_json(report) : app::fuzz_table(report), report.exit_code());
}

struct Work {
  app::FuzzReport report;
  std::vector<app::FuzzInputs> inputs;  // of each target
};

// The report to begin with: an empty one, or that of a run that ended early.
Result<app::FuzzReport> begin(const CountedFuzz& o) {
  app::FuzzReport out;
  if (!o.resume.empty()) {
    auto begun = app::read_fuzz_record(o.resume);
    if (begun)
      if (const MaybeError bad = app::check_build(begun->build, o.resume)) return *bad;
    return begun;
  }
  const auto seed = parse_seed("--seed", o.seed.empty() ? "1" : o.seed);
  if (!seed) return seed.error();
  const auto shard = parse_shard(o.shard.empty() ? "1/1" : o.shard);
  if (!shard) return shard.error();
  out.seed = *seed;
  out.shard = *shard;
  for (const std::string& name : o.targets)
    out.targets.push_back({.name = name, .corpus = {}, .findings = {}});
  return out;
}

// Reads the corpora; how many inputs there are follows from them.
Result<Work> prepare(const CountedFuzz& o, const InputsOf& inputs_of) {
  auto report = begin(o);
  if (!report) return report.error();
  const auto cases = parse_count("--cases", o.cases.empty() ? "0" : o.cases);
  if (!cases) return cases.error();
  Work work{std::move(*report), {}};
  for (app::FuzzTally& t : work.report.targets) {
    auto inputs = inputs_of(t.name, work.report.seed);
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
  work.report.shard = {};
  for (std::size_t i = 0; i < work.report.targets.size(); ++i) {
    app::FuzzTally& t = work.report.targets[i];
    t.inputs = t.judged = 1;
    if (auto found = judge(t, work.inputs[i], work.report.seed, *number)) {
      t.failed = 1;
      t.add(std::move(*found));
    }
  }
  return publish(work.report, "fuzz", "", o.junit, o.json);
}

void judge_all(const CountedFuzz& o, Work& work) {
  app::FuzzReport& report = work.report;
  std::int64_t wanted = 0;
  std::int64_t done = 0;
  for (const app::FuzzTally& t : report.targets) wanted += report.shard.of(t.inputs);
  Progress bar("inputs", !o.no_progress, std::nullopt);
  for (std::size_t i = 0; i < report.targets.size(); ++i) {
    app::FuzzTally& t = report.targets[i];
    done += t.judged;
    for (const std::int64_t end = report.shard.of(t.inputs); t.judged < end; ++t.judged) {
      if (interrupted()) return;
      const std::int64_t number = report.shard.index + t.judged * report.shard.count;
      if (auto found = judge(t, work.inputs[i], report.seed, number)) {
        ++t.failed;
        t.add(std::move(*found));
      }
      if (++done % 64 == 0) bar.update(done, wanted);
    }
  }
}

}  // namespace

ExitCode fuzz_counted(const CountedFuzz& o, const InputsOf& inputs_of) {
  const std::string& record = o.record.empty() ? o.resume : o.record;
  if (const MaybeError bad = check_record_files(o.json, o.junit, record, o.resume))
    return complain("fuzz", *bad);
  catch_interrupts();  // before archives are unpacked, so that nothing of them is left
  auto work = prepare(o, inputs_of);
  if (!work) return complain("fuzz", work.error());
  catch_crashes();
  if (!o.number.empty()) return one_number(o, *work);
  judge_all(o, *work);
  return publish(work->report, "fuzz", record, o.junit, o.json);
}

}  // namespace mla::cli
