// Claims about the quotas of cases: what a run has to have seen before it may say that all held.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/judge/runner.hpp"
#include "properties/judge/tags.hpp"
#include "properties/step/forwarding_backend.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

TEST_CASE("quotas: random cases have every tag, and a run that lacks one is inconclusive",
          "[judge][quotas]") {
  static constexpr Property kHolds{"T02", "holds", "Everything is well.",
                                   [](Subject&) { return passed(); }};
  RunOptions options;
  options.properties = {&kHolds};
  options.random_cases = 1000;
  options.backend = &cpu_backend();
  RunReport report = run_properties(options);
  CHECK(report.exit_code() == ExitCode::held);
  CHECK(report.random_cases > 500);
  CHECK(std::ssize(report.tags) ==
        std::count_if(all_tags().begin(), all_tags().end(), [](auto& t) { return !t.production; }));
  for (TagTally& tag : report.tags) {
    INFO(tag.tag);
    CHECK(tag.cases * tag.one_in >= report.random_cases);
    const std::int64_t cases = std::exchange(tag.cases, report.random_cases / tag.one_in - 1);
    CHECK(report.exit_code() == ExitCode::inconclusive);
    tag.cases = cases;
  }
}

TEST_CASE("quotas: a run owes the tags of the kinds that its properties judge and its backend has",
          "[judge][quotas]") {
  static constexpr Check::Function holds = [](Subject&) { return passed(); };
  static constexpr Property kDecodeOnly{"T07", "decode", "Holds.", {holds, {true, false, false}}};
  static constexpr Property kFaOnly{"T08", "fa", "Holds.", {holds, {false, false, true}}};
  const auto owed = [](std::vector<const Property*> properties, const Backend& backend) {
    RunOptions options;
    options.properties = std::move(properties);
    options.random_cases = 1;
    options.production = true;
    options.backend = &backend;
    std::vector<std::string> names;
    for (const TagTally& tag : run_properties(options).tags) names.emplace_back(tag.tag);
    return names;
  };
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto both = owed({&kDecodeOnly, &kFaOnly}, cpu_backend());
  CHECK(has(both, "64 requests"));
  CHECK(has(both, "an FA step of more than 16 heads"));
  CHECK_FALSE(has(both, "a prefill of more than 24 heads"));
  const auto decode = owed({&kDecodeOnly}, cpu_backend());
  CHECK(has(decode, "64 requests"));
  CHECK_FALSE(has(decode, "an FA step of more than 16 heads"));
  const auto fa = owed({&kFaOnly}, cpu_backend());
  CHECK(has(fa, "an FA step of more than 16 heads"));
  CHECK(has(fa, "blocks of several tokens"));
  CHECK_FALSE(has(fa, "64 requests"));
  class DecodeBackend final : public ForwardingBackend {
   public:
    DecodeBackend() : ForwardingBackend(cpu_backend()) {}
    [[nodiscard]] std::string_view device(StepKind kind) const override {
      return kind == StepKind::decode ? cpu_backend().device(kind) : std::string_view();
    }
  };
  CHECK(owed({&kDecodeOnly, &kFaOnly}, DecodeBackend()) == decode);
}

TEST_CASE("quotas: a run on one architecture owes no tag that only the other one can have",
          "[judge][quotas]") {
  static constexpr Check::Function holds = [](Subject&) { return passed(); };
  static constexpr Property kFp8Prefill{
      "T09", "plans", "Holds.", {holds, {true, true, false}}, PrefillSteps::fp8};
  const auto owes = [](const char* tag, std::optional<Arch> arch) {
    RunOptions options;
    options.properties = {&kFp8Prefill};
    options.random_cases = 1;
    options.production = true;
    options.backend = &cpu_backend();
    options.arch = arch;
    const auto tags = run_properties(options).tags;
    return std::any_of(tags.begin(), tags.end(), [tag](const TagTally& t) { return t.tag == tag; });
  };
  for (const char* tag : {"a prefill step", "31 to 33 requests on gfx950"}) {
    CHECK(owes(tag, std::nullopt));
    CHECK(owes(tag, Arch::gfx950));
    CHECK_FALSE(owes(tag, Arch::gfx942));
  }
  CHECK(owes("64 requests", Arch::gfx942));
}
