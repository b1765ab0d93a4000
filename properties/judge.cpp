#include "properties/judge.hpp"

#include <new>
#include <stdexcept>

namespace mla::prop {
namespace {

class OneThread final : public Backend {
 public:
  explicit OneThread(const Backend& backend) : backend_(backend) {}
  [[nodiscard]] std::string_view name() const override { return backend_.name(); }
  [[nodiscard]] Support supports(const ResolvedShape& shape) const override {
    return backend_.supports(shape);
  }
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    ExecutionOptions narrowed = options;
    if (narrowed.threads == 0) narrowed.threads = 1;
    return backend_.run(launch, narrowed);
  }
  [[nodiscard]] const cpu::PrefillKernels* prefill_kernels() const override {
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
      continue;
    }
    judgement.outcomes.push_back(checked(*property, subject));
    all_skipped = all_skipped && judgement.outcomes.back().verdict == Verdict::skip;
  }
  judgement.refused = c.kind == StepKind::decode ? !subject.metadata().ok() : all_skipped;
  return judgement;
}

}  // namespace mla::prop
