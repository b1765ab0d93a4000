// Claims about what ran: every backend and kind of step, honest and with a lie planted.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/case/case.hpp"
#include "core/engine/fa/kernels.hpp"
#include "core/engine/prefill/kernels.hpp"
#include "hip_backend/aiter/aiter_backend.hpp"
#include "hip_backend/device/open_device.hpp"
#include "hip_backend/hip_backend.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "properties/judge/judge.hpp"
#include "properties/judge/runner.hpp"
#include "properties/step/forwarding_backend.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

struct Named {
  std::string label;
  std::unique_ptr<Backend> backend;
  Arch arch = Arch::gfx942;
};

std::shared_ptr<hip::Device> emulated(Arch arch) {
  auto device = hip::open_device("emulated:" + std::string(name(arch)));
  REQUIRE(device.ok());
  return std::move(*device);
}

// Every backend that can run here.
std::vector<Named> backends() {
  std::vector<Named> out;
  out.push_back({"cpu", cpu::make_cpu_backend()});
  for (const cpu::Isa isa : cpu::available_isas())
    out.push_back({"cpu-" + std::string(cpu::name(isa)), cpu::make_cpu_backend({.isa = isa})});
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (hip::code_object(name(arch), "decode").empty()) continue;
    const std::string device = " on " + std::string(name(arch));
    out.push_back({"hip" + device, hip::make_hip_backend(emulated(arch), {}), arch});
    const char* hsa = std::getenv("AITER_HSA");
    if (hsa == nullptr) continue;
    auto installation = hip::aiter::Installation::open(hsa);
    REQUIRE(installation.ok());
    out.push_back({"aiter" + device,
                   hip::aiter::make_aiter_backend(emulated(arch), std::move(*installation), {}),
                   arch});
  }
  return out;
}

// A case of each kind, and a property that has it executed and compares it with the reference.
Case case_for(const Backend& backend, StepKind kind, Arch arch) {
  const std::string on = ";arch=" + std::string(name(arch));
  if (kind == StepKind::decode) return case_of("mla1:1q1s0_1q1s40;cu=2" + on);
  if (kind == StepKind::prefill) {
    const prefill::Kernels* kernels = backend.prefill_kernels();
    const bool planned = kernels != nullptr && !kernels->flash;  // it has nothing else
    return case_of("mla1:1q2s6;heads=1;kind=prefill" + on +
                   (planned ? ";dtype=bf16/fp8;planner=v12" : ""));
  }
  return case_of("mla1:1q1s9_1q3s7;heads=2;block=16;kind=fa");
}
const Property& property_for(StepKind kind) {
  return *find_property(kind == StepKind::fa ? "P12" : "P05");
}

RunReport report_of(const Backend& backend, StepKind kind, Arch arch) {
  RunOptions options;
  options.properties = {&property_for(kind)};
  options.cases = {case_for(backend, kind, arch)};
  options.backend = &backend;
  return run_properties(options);
}

// Goes by the name of one backend and hands every step to another.
class Liar final : public ForwardingBackend {
 public:
  Liar(const Backend& claimed, const Backend& runs) : ForwardingBackend(runs), claimed_(claimed) {}
  [[nodiscard]] std::string_view name() const override { return claimed_.name(); }
  [[nodiscard]] std::string_view device(StepKind kind) const override {
    const std::string_view device = claimed_.device(kind);
    const bool same = claimed_.name() == inner().name() && device == inner().device(kind);
    return device.empty() || same ? "elsewhere" : device;
  }

 private:
  const Backend& claimed_;
};

// Has the right answer from somewhere, and launches nothing.
class Oracle final : public Backend {
 public:
  explicit Oracle(const Backend& claimed)
      : claimed_(claimed), kernels_(*cpu_backend().prefill_kernels()) {
    kernels_.flash = [run = kernels_.flash](const prefill::KernelContext& context,
                                            const prefill::FlashLaunch& launch) {
      Launches unseen;
      run({context.arch, context.threads, context.schedule_seed, context.faults, unseen}, launch);
    };
  }
  [[nodiscard]] std::string_view name() const override { return claimed_.name(); }
  [[nodiscard]] std::string_view device(StepKind kind) const override {
    return kind == StepKind::fa ? std::string_view() : claimed_.device(StepKind::decode);
  }
  [[nodiscard]] Support supports(const ResolvedShape& shape) const override {
    return cpu_backend().supports(shape);
  }
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    Result<DecodeResult> result = cpu_backend().run(launch, options);
    if (result) result->launches = {};
    return result;
  }
  [[nodiscard]] const prefill::Kernels* prefill_kernels() const override { return &kernels_; }

 private:
  const Backend& claimed_;
  prefill::Kernels kernels_;
};

// The CPU backend, whose decodes of FA steps count a launch and write nothing.
class SilentDecodes final : public ForwardingBackend {
 public:
  SilentDecodes() : ForwardingBackend(cpu_backend()), kernels_(*cpu_backend().fa_kernels()) {
    kernels_.paged_attention_v1 = [](const fa::KernelContext& context, const fa::PagedCall&) {
      context.launches.add({"cpu", kHost, StepKind::fa, "silent"});
    };
  }
  [[nodiscard]] const fa::Kernels* fa_kernels() const override { return &kernels_; }

 private:
  fa::Kernels kernels_;
};

// The CPU backend, whose launches give an error from the n-th on.
class FailsLater final : public ForwardingBackend {
 public:
  FailsLater(std::int64_t good, ErrorCode code)
      : ForwardingBackend(cpu_backend()), good_(good), code_(code) {}
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    if (good_-- > 0) return inner().run(launch, options);
    failed_ = true;
    return Error{code_, "the device is gone"};
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  mutable std::int64_t good_;
  mutable bool failed_ = false;
  ErrorCode code_;
};

// What properties say of a case on a backend that fails after `good` launches; of those whose
// launches failed.
std::vector<std::string> verdicts_on_failure(std::int64_t good, ErrorCode code) {
  std::vector<std::string> verdicts;
  const Case c = case_of("mla1:1q1s0_1q3s40_1q3s70;cu=2;gran=1");
  for (const Property& property : all_properties()) {
    const FailsLater backend(good, code);
    const Property* const one = &property;
    const Outcome outcome = judge(c, {&one, 1}, backend, nullptr).outcomes.front();
    if (backend.failed())
      verdicts.push_back(std::string(property.id) + " " + std::string(name(outcome.verdict)));
  }
  return verdicts;
}

void check_refused(const Backend& liar, StepKind kind, Arch arch) {
  const RunReport report = report_of(liar, kind, arch);
  const PropertyTally& tally = report.tallies.front();
  CHECK(tally.ran == 0);
  CHECK(tally.unsettled == 1);
  CHECK(tally.launches == 0);
  CHECK(tally.why_unsettled.starts_with(backend_name(liar) + " launched nothing for it"));
  CHECK(report.exit_code() == ExitCode::inconclusive);
  const Property* property = &property_for(kind);
  CHECK(judge(case_for(liar, kind, arch), {&property, 1}, liar, nullptr).outcomes.front().verdict ==
        Verdict::inconclusive);
}

}  // namespace

TEST_CASE("execution: an FA step launches the kernels of the backend that was named", "[judge]") {
  const SilentDecodes silent;
  const RunReport report = report_of(silent, StepKind::fa, Arch::gfx942);
  REQUIRE(report.failures.size() == 1);
  CHECK(report.failures.front().outcome.message.starts_with("decode request 0 row 0"));
  CHECK(report.failures.front().outcome.message.find("was never written") != std::string::npos);
}

TEST_CASE("execution: a backend passes what it launched, and lacks what it has no step for",
          "[judge]") {
  for (const Named& named : backends())
    for (const StepKind kind : kStepKinds) {
      INFO(named.label << " " << name(kind));
      const Backend& backend = *named.backend;
      const RunReport report = report_of(backend, kind, named.arch);
      const PropertyTally& tally = report.tallies.front();
      if (backend.device(kind).empty()) {
        CHECK(tally.skipped == 1);
        CHECK(tally.why_skipped == lacks_step(backend, kind));
        CHECK(report.launches.entries().empty());
        CHECK(report.exit_code() == ExitCode::inconclusive);
        continue;
      }
      INFO(tally.why_skipped << tally.why_unsettled);
      CHECK(tally.ran == 1);
      CHECK(tally.launches > 0);
      CHECK(report.launches.of(backend.name(), backend.device(kind), kind) == tally.launches);
      CHECK(report.exit_code() == ExitCode::held);
    }
}

TEST_CASE("execution: what another backend ran in a backend's name is no pass", "[judge]") {
  const auto portable = cpu::make_cpu_backend({.isa = cpu::Isa::portable});
  for (const Named& named : backends())
    for (const StepKind kind : kStepKinds) {
      INFO(named.label << " " << name(kind));
      check_refused(Liar(*named.backend, *portable), kind, named.arch);
    }
}

TEST_CASE("execution: a result for which nothing was launched is no pass", "[judge]") {
  for (const Named& named : backends())
    for (const StepKind kind : {StepKind::decode, StepKind::prefill}) {
      INFO(named.label << " " << name(kind));
      check_refused(Oracle(*named.backend), kind, named.arch);
    }
}

TEST_CASE("execution: a launch that comes back with a fault is a failure, whichever claim asked",
          "[judge]") {
  for (const ErrorCode code : {ErrorCode::fault, ErrorCode::overrun})
    for (const std::int64_t good : {0, 1, 2}) {
      const std::vector<std::string> verdicts = verdicts_on_failure(good, code);
      CHECK(std::ssize(verdicts) >= 5);
      for (const std::string& verdict : verdicts) {
        INFO(verdict << " after " << good << " launches");
        CHECK(verdict.ends_with(" fail"));
      }
    }
}

TEST_CASE("execution: a launch that is refused is none", "[judge]") {
  std::int64_t skips = 0;
  for (const std::string& verdict : verdicts_on_failure(0, ErrorCode::unsupported))
    skips += verdict.ends_with(" skip") ? 1 : 0;
  CHECK(skips > 5);
}

TEST_CASE("execution: every property of a case says that its own step failed", "[judge]") {
  const FailsLater backend(0, ErrorCode::fault);
  const std::vector<const Property*> properties = {find_property("P08"), find_property("P13"),
                                                   find_property("P31")};
  const Case c = case_of("mla1:2q2s40;cu=2");
  for (const Outcome& outcome : judge(c, properties, backend, nullptr).outcomes) {
    CHECK(outcome.verdict == Verdict::fail);
    CHECK(outcome.message == "a launch failed: the device is gone");
  }
}

TEST_CASE("execution: what stays on the host is named", "[judge]") {
  for (const Named& named : backends()) {
    if (named.backend->device(StepKind::prefill).empty()) continue;
    INFO(named.label);
    const Launches launches = report_of(*named.backend, StepKind::prefill, named.arch).launches;
    std::string host;
    for (const Launch& l : launches.entries())
      if (l.device == kHost) host += l.kernel + " ";
    CHECK(host == "gather merge ");
  }
}

TEST_CASE("execution: a step without a key, for which nothing is launched, is skipped", "[judge]") {
  for (const Named& named : backends()) {
    INFO(named.label);
    const Property* const property = &property_for(StepKind::decode);
    const Case c = case_of("mla1:1q1s0;cu=2;arch=" + std::string(name(named.arch)));
    const Outcome outcome = judge(c, {&property, 1}, *named.backend, nullptr).outcomes.front();
    CHECK(outcome.verdict == Verdict::skip);
    CHECK(outcome.message.ends_with("launched nothing for it: no row has a key"));
  }
}

TEST_CASE(
    "not applicable: a claim that no case of the device can be about settles nothing and "
    "unsettles nothing",
    "[judge]") {
  RunOptions options;
  options.properties = {find_property("P05"), find_property("P22")};
  options.cases = {case_for(cpu_backend(), StepKind::decode, Arch::gfx942),
                   case_for(cpu_backend(), StepKind::prefill, Arch::gfx942)};
  options.backend = &cpu_backend();
  CHECK(run_properties(options).exit_code() == ExitCode::inconclusive);
  options.arch = Arch::gfx942;
  const RunReport report = run_properties(options);
  CHECK(report.tallies[0].never_applies.empty());
  CHECK(report.tallies[1].never_applies == "gfx942 has no fp8 prefill");
  CHECK(report.exit_code() == ExitCode::held);
  options.properties = {find_property("P22")};
  CHECK(run_properties(options).exit_code() == ExitCode::inconclusive);
}

TEST_CASE("not applicable: what no prefill step of gfx942 is judged by says so", "[judge]") {
  RunOptions options;
  for (const Property& p : all_properties())
    if (p.check.kinds[static_cast<std::size_t>(StepKind::prefill)])
      options.properties.push_back(&p);
  for (const char* line :
       {"mla1:2q64s900;heads=4;kind=prefill;block=16;workspace=256",
        "mla1:1q300s300_1q40s40;heads=2;cu=6;block=16;dtype=bf16/fp8;kind=prefill"})
    options.cases.push_back(case_of(line));
  options.backend = &cpu_backend();
  options.arch = Arch::gfx942;
  for (const PropertyTally& tally : run_properties(options).tallies) {
    INFO(tally.property->id);
    CHECK((tally.ran == 0) == (tally.property->prefill_steps == PrefillSteps::fp8));
  }
}

TEST_CASE("not applicable: a claim about the kind of no given case, which alone settles nothing",
          "[judge]") {
  RunOptions options;
  options.properties = {find_property("P22")};
  options.cases = {case_for(cpu_backend(), StepKind::decode, Arch::gfx950)};
  options.backend = &cpu_backend();
  options.arch = Arch::gfx950;
  const RunReport report = run_properties(options);
  CHECK(report.tallies.front().never_applies == "the claim says nothing about decode steps");
  CHECK(report.tallies.front().skipped == 1);
  CHECK(report.exit_code() == ExitCode::inconclusive);
  // Beside a claim that ran, it leaves the run as it is.
  options.properties.push_back(find_property("P04"));
  CHECK(run_properties(options).exit_code() == ExitCode::held);
}

TEST_CASE("not applicable: a given case that is refused is a skip", "[judge]") {
  RunOptions options;
  options.properties = {find_property("P05")};
  options.cases = {parse_case("mla1:1q5s3").value()};
  options.backend = &cpu_backend();
  const RunReport report = run_properties(options);
  CHECK(report.tallies.front().never_applies.empty());
  CHECK(report.tallies.front().skipped == 1);
  CHECK(report.exit_code() == ExitCode::inconclusive);
}
