#include "properties/judge.hpp"

#include <new>
#include <stdexcept>

namespace mla::prop {
namespace {

class OneThread final : public Backend {
 public:
  explicit OneThread(const Backend& backend) : backend_(backend) {}
  [[nodiscard]] std::string_view name() const override { return backend_.name(); }
  [[nodiscard]] std::string_view device(StepKind kind) const override {
    return backend_.device(kind);
  }
  [[nodiscard]] Support supports(const ResolvedShape& shape) const override {
    return backend_.supports(shape);
  }
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    ExecutionOptions narrowed = options;
    if (narrowed.threads == 0) narrowed.threads = 1;
    return backend_.run(launch, narrowed);
  }
  [[nodiscard]] const prefill::Kernels* prefill_kernels() const override {
    return backend_.prefill_kernels();
  }

 private:
  const Backend& backend_;
};

// A case may be small and the machine smaller.
Outcome checked(const Property& property, Subject& subject) {
  const auto out_of_memory = [] {
    return Outcome{Verdict::inconclusive, "there was not enough memory for the case", {}};
  };
  try {
    return property.check(subject);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return out_of_memory();
  }
}

}  // namespace

Outcome only_what_ran(Outcome outcome, const Backend& backend, StepKind kind,
                      const Launches& launches) {
  if (outcome.verdict != Verdict::pass) return outcome;
  const auto count = launches.of(backend.name(), backend.device(kind), kind);
  if (count && *count > 0) return outcome;
  std::string why = backend_name(backend) + " launched nothing for it";
  if (count) return skipped(why + ": no row has a key");
  for (const std::string& line : launches.lines()) why += ", " + line;
  return {Verdict::inconclusive, std::move(why), {}};
}

Launches Judgement::launches() const {
  Launches all = shared;
  for (const Execution& e : executions) all.add(e.own);
  return all;
}

std::unique_ptr<Backend> one_thread(const Backend& backend) {
  return std::make_unique<OneThread>(backend);
}

Judgement judge(const Case& c, std::span<const Property* const> properties, const Backend& backend,
                const Interposer* interposer) {
  return judge(c, properties, backend, interposer, [] { return false; });
}

Judgement judge(const Case& c, std::span<const Property* const> properties, const Backend& backend,
                const Interposer* interposer, const Stopped& stopped) {
  Subject subject(c, backend, interposer);
  Judgement judgement;
  bool all_skipped = true;
  for (const Property* property : properties) {
    judgement.cut = judgement.cut || (!judgement.outcomes.empty() && stopped());
    if (judgement.cut) {
      judgement.outcomes.push_back({Verdict::inconclusive, "interrupted", {}});
      judgement.executions.emplace_back();
      continue;
    }
    Outcome outcome = checked(*property, subject);
    Execution execution = subject.log().take();
    if (execution.executed) {
      Launches launches = execution.own;
      if (execution.shared) launches.add(subject.log().shared());
      outcome = only_what_ran(std::move(outcome), backend, c.kind, launches);
    }
    judgement.outcomes.push_back(std::move(outcome));
    judgement.executions.push_back(std::move(execution));
    const Verdict verdict = judgement.outcomes.back().verdict;
    all_skipped = all_skipped && (verdict == Verdict::skip || verdict == Verdict::not_applicable);
  }
  judgement.shared = subject.log().shared();
  judgement.refused = c.kind == StepKind::decode ? !subject.metadata().ok()
                                                 : all_skipped || backend.device(c.kind).empty();
  return judgement;
}

}  // namespace mla::prop
